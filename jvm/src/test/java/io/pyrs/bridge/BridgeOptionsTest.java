package io.pyrs.bridge;

import static org.testng.Assert.assertEquals;

import java.util.Map;
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
    public void limitBeyondTheIntegersIsTheLargestInteger(long given, int expected) {
        assertEquals(Bridge.positive(Map.of("max_prefetch", given), "max_prefetch", 7), expected);
    }
}
