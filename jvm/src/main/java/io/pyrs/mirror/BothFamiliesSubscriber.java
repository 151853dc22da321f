package io.pyrs.mirror;

import java.util.concurrent.Flow;
import org.reactivestreams.Subscriber;

/**
 * A Subscriber of both families.
 *
 * <p>Mirror Publishers have a subscribe overload for it that is more specific than those for either family. Without it,
 * a call with a mirror Subscriber would be ambiguous.
 */
public interface BothFamiliesSubscriber extends Subscriber<Object>, Flow.Subscriber<Object> {}
