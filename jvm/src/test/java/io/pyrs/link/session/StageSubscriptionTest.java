package io.pyrs.link.session;

import static org.testng.Assert.assertNull;

import io.pyrs.value.Conversion;
import java.lang.ref.WeakReference;
import java.util.concurrent.CompletableFuture;
import org.testng.annotations.Test;

public class StageSubscriptionTest {
    /** A program may wait for a stage many times, each time with a deadline. */
    @Test(timeOut = 60_000)
    public void stageThatDoesNotCompleteKeepsNoCancelledStream() {
        CompletableFuture<Object> stage = new CompletableFuture<>();
        WeakReference<OutboundStream> stream = cancelled(stage);
        while (stream.get() != null) {
            System.gc();
        }
        assertNull(stage.getNow(null));
    }

    private static WeakReference<OutboundStream> cancelled(CompletableFuture<Object> stage) {
        OutboundStream stream = new OutboundStream(new DirectSession(16).session, 1, Conversion.AUTO, null);
        StageSubscription.subscribe(stage, stream);
        stream.receiveRequest(1);
        stream.receiveCancel();
        return new WeakReference<>(stream);
    }
}
