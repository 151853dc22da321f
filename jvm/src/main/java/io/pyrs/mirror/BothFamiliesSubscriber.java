package io.pyrs.mirror;

import java.util.concurrent.Flow;
import org.reactivestreams.Subscriber;

/**
 * A Subscriber of both families, org.reactivestreams and java.util.concurrent.Flow.
 *
 * <p>Mirror Publishers have an overload of subscribe for this type, which is more specific than the overloads for the
 * two families. Without that overload, a call with a mirror Subscriber would be ambiguous.
 */
public interface BothFamiliesSubscriber extends Subscriber<Object>, Flow.Subscriber<Object> {}
