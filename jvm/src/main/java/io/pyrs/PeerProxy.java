package io.pyrs;

import java.lang.reflect.Proxy;

/** A proxy for an object of the peer. The peer receives the original object when the proxy is sent to it. */
public interface PeerProxy {
    /** Returns the identity of the represented object. */
    PeerReference reference();

    /** Returns the identity of a proxy, which may be the handler of a java.lang.reflect.Proxy; null for other values. */
    static PeerReference referenceOf(Object value) {
        Object proxy = value instanceof Proxy ? Proxy.getInvocationHandler(value) : value;
        return proxy instanceof PeerProxy ? ((PeerProxy) proxy).reference() : null;
    }
}
