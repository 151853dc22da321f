package io.pyrs.bridge;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNotNull;
import static org.testng.Assert.expectThrows;

import java.util.Map;
import java.util.function.Function;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

public class BridgeOptionsTest {
    @DataProvider
    public Object[][] limits() {
        return new Object[][] {
            {1L, 1},
            {0L, 1},
            {(long) Integer.MAX_VALUE, Integer.MAX_VALUE},
            {1L << 31, Integer.MAX_VALUE},
            {1L << 32, Integer.MAX_VALUE},
            {Long.MAX_VALUE, Integer.MAX_VALUE}
        };
    }

    @Test(dataProvider = "limits")
    public void limitIsClampedToThePositiveIntegers(long given, int expected) {
        assertEquals(Bridge.positive(Map.of("max_prefetch", given), "max_prefetch", 7), expected);
    }

    @Test
    public void elementTypeOfACallableIsFoundWhenItIsCreated() throws Exception {
        ClassLoader own = getClass().getClassLoader();
        // Like a Spark driver's class path, the parent does not have the classes that ADD JAR adds for one session.
        Bridge bridge = new Bridge(new byte[32], Map.of(), own.getParent());
        try {
            String function = Function.class.getName();
            Map<String, String> known = Map.of("element_type", BridgeOptionsTest.class.getName());
            assertNotNull(bridge.callable(1, 1, function, known));
            Map<String, String> unknown = Map.of("element_type", "a.Missing");
            String message = expectThrows(
                            IllegalArgumentException.class, () -> bridge.callable(2, 1, function, unknown))
                    .getMessage();
            assertEquals(message, "element_type a.Missing: class not found");
        } finally {
            bridge.close();
        }
    }
}
