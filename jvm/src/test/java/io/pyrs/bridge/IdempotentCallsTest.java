package io.pyrs.bridge;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertThrows;

import io.pyrs.LinkClosedException;
import java.util.concurrent.atomic.AtomicInteger;
import org.testng.annotations.Test;

/** Tests that a control call runs once, and that a closed bridge keeps no answer. */
public class IdempotentCallsTest {
    private final IdempotentCalls calls = new IdempotentCalls(getClass().getClassLoader());

    @Test
    public void repeatedRequestGetsTheFirstAnswer() throws Exception {
        IdempotentCalls fresh = new IdempotentCalls(getClass().getClassLoader());
        AtomicInteger runs = new AtomicInteger();
        Object first = fresh.once(1, () -> "answer " + runs.incrementAndGet());
        assertSame(fresh.once(1, () -> "answer " + runs.incrementAndGet()), first);
        assertEquals(runs.get(), 1);
    }

    @Test
    public void closeDropsAllAnswersIncludingRunningOnes() throws Exception {
        calls.once(1, Object::new);
        calls.once(2, () -> {
            calls.close();
            return new Object();
        });
        assertEquals(calls.size(), 0);
        assertThrows(LinkClosedException.class, () -> calls.once(3, Object::new));
        assertEquals(calls.size(), 0);
    }
}
