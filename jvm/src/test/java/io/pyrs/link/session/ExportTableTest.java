package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNotSame;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertSame;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.testng.annotations.Test;

public class ExportTableTest {
    @Test
    public void equalObjectsAreDistinctEntries() {
        ExportTable table = new ExportTable();
        String first = new String("same");
        String second = new String("same");
        assertNotSame(table.findOrAdd(first), table.findOrAdd(second));
        assertSame(table.findOrAdd(first), table.findOrAdd(first));
        assertEquals(table.size(), 2);
    }

    @Test
    public void agreesWithMapUnderRandomOperations() {
        ExportTable table = new ExportTable();
        Map<Long, Object> model = new HashMap<>();
        List<ExportTable.Owned> live = new ArrayList<>();
        Random random = new Random(5);
        for (int step = 0; step < 100_000; step++) {
            // The table grows to some thousands and shrinks again.
            boolean growing = step / 20_000 % 2 == 0;
            if (live.isEmpty() || random.nextInt(10) < (growing ? 7 : 2)) {
                ExportTable.Owned owned = table.findOrAdd(new Object());
                model.put(owned.handle, owned.target);
                live.add(owned);
            } else {
                int at = random.nextInt(live.size());
                ExportTable.Owned owned = live.set(at, live.get(live.size() - 1));
                live.remove(live.size() - 1);
                table.remove(owned);
                model.remove(owned.handle);
                assertNull(table.find(owned.handle));
                assertNull(table.find(owned.target));
            }
        }
        assertEquals(table.size(), model.size());
        model.forEach((handle, target) -> {
            assertSame(table.find((long) handle).target, target);
            assertEquals(table.find(target).handle, (long) handle);
        });
    }
}
