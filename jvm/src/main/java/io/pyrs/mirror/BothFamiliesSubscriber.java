package io.pyrs.mirror;

import java.util.concurrent.Flow;
import org.reactivestreams.Subscriber;

/**
 * A Subscriber of both families. Mirror Publishers have an overload for it, which is more specific than those for either family: without
 * it a call with one of our Subscribers would be ambiguous.
 */
public interface BothFamiliesSubscriber extends Subscriber<Object>, Flow.Subscriber<Object> {}
