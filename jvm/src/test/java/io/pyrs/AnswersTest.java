package io.pyrs;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertSame;
import static org.testng.Assert.assertThrows;

import java.util.concurrent.atomic.AtomicInteger;
import org.testng.annotations.Test;

/** A control call happens once, and no answer outlives its bridge. */
public class AnswersTest {
    private final Answers answers = new Answers(getClass().getClassLoader());

    @Test
    public void aRepeatedRequestGetsTheFirstAnswer() throws Exception {
        Answers fresh = new Answers(getClass().getClassLoader());
        AtomicInteger runs = new AtomicInteger();
        Object first = fresh.once(1, () -> "answer " + runs.incrementAndGet());
        assertSame(fresh.once(1, () -> "answer " + runs.incrementAndGet()), first);
        assertEquals(runs.get(), 1);
    }

    @Test
    public void closeForgetsEveryAnswerAlsoOneThatIsBeingComputed() throws Exception {
        answers.once(1, Object::new);
        answers.once(2, () -> {
            answers.close();
            return new Object();
        });
        assertEquals(answers.size(), 0);
        assertThrows(LinkClosedException.class, () -> answers.once(3, Object::new));
        assertEquals(answers.size(), 0);
    }
}
