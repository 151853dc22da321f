package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;

import io.pyrs.Vectors;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

public class WindowTest {
    @DataProvider
    public Iterator<Object[]> vectors() throws IOException {
        return Vectors.rows("window.json");
    }

    @Test(dataProvider = "vectors")
    public void replaysVector(String name, Map<String, Object> vector) {
        Object bound = vector.get("max_prefetch");
        Window window = new Window(
                bound == null ? 4096 : (int) Vectors.number(bound), Boolean.TRUE.equals(vector.get("exact")));
        int at = 0;
        for (Object each : (List<?>) vector.get("steps")) {
            Map.Entry<?, ?> step = ((Map<?, ?>) each).entrySet().iterator().next();
            Object value = step.getValue();
            switch ((String) step.getKey()) {
                case "request":
                    window.request(Vectors.number(value));
                    break;
                case "observe":
                    window.observe(Vectors.number(((List<?>) value).get(0)), Vectors.number(((List<?>) value).get(1)));
                    break;
                case "deliver":
                    window.deliver(Vectors.number(value));
                    break;
                case "empty":
                    window.ranEmpty();
                    break;
                case "refill":
                    assertEquals(window.refill(), Vectors.number(value), "step " + at);
                    break;
                default:
                    throw new AssertionError("no such step: " + step);
            }
            at++;
        }
    }
}
