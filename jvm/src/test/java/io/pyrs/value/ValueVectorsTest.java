package io.pyrs.value;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertFalse;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import io.pyrs.Vectors;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.testng.annotations.DataProvider;
import org.testng.annotations.Test;

/** Replays the value vectors, which the Python tests replay as well. */
public class ValueVectorsTest {
    private static Object[][] rows(String key) throws IOException {
        List<Object[]> rows = new ArrayList<>();
        for (Map<String, Object> row : Vectors.read("values.json")) {
            if (row.containsKey(key)) {
                rows.add(new Object[] {row.get("name"), row});
            }
        }
        assertFalse(rows.isEmpty());
        return rows.toArray(new Object[0][]);
    }

    @DataProvider
    public Object[][] both() throws IOException {
        return rows("python");
    }

    @DataProvider
    public Object[][] written() throws IOException {
        return rows("java_writes");
    }

    @DataProvider
    public Object[][] read() throws IOException {
        return rows("java_reads");
    }

    @DataProvider
    public Object[][] unconvertible() throws IOException {
        return rows("unconvertible_in");
    }

    @DataProvider
    public Object[][] malformed() throws IOException {
        return rows("malformed");
    }

    @Test(dataProvider = "both")
    public void valueIsEncodedToTheVectorsBytes(String name, Map<String, Object> row) {
        assertEquals(encode(name), row.get("hex"));
        List<?> others = (List<?>) row.getOrDefault("also_java", List.of());
        for (Object label : others) {
            if (!label.equals("record")) { // ConversionTest tests records, which Java 11 cannot compile
                assertEquals(encode(name + "/" + label), row.get("hex"), label.toString());
            }
        }
    }

    @Test(dataProvider = "both")
    public void vectorsBytesAreDecodedToTheValue(String name, Map<String, Object> row) {
        Object expected = ValueRows.values().get(name);
        if (name.startsWith("reference")) {
            String text = name.endsWith("back") ? "local 9" : "remote 0 7";
            expected = new RecordingReferences.Mirror(text);
            expected = name.endsWith("inside") ? ValueRows.list(expected) : expected;
        }
        byte[] body = Vectors.bytes(row.get("hex"));
        assertSame(new ValueDecoder(new RecordingReferences(), null).decode(body), expected);

        byte[] batch = new byte[1 + 2 * body.length];
        batch[0] = (byte) 0x92;
        System.arraycopy(body, 0, batch, 1, body.length);
        System.arraycopy(body, 0, batch, 1 + body.length, body.length);
        ValueDecoder decoder = new ValueDecoder(new RecordingReferences(), ElementType.ANY);
        assertEquals(decoder.beginBatch(batch), 2);
        assertSame(decoder.next(), expected);
        assertSame(decoder.next(), expected);
    }

    @Test(dataProvider = "written")
    public void valueThatOnlyJavaWritesHasTheVectorsBytes(String name, Map<String, Object> row) {
        assertEquals(encode(name), row.get("hex"));
    }

    @Test(dataProvider = "read")
    public void vectorsBytesThatNoSideWritesAreDecoded(String name, Map<String, Object> row) {
        assertSame(
                new ValueDecoder(new RecordingReferences(), null).decode(Vectors.bytes(row.get("hex"))),
                ValueRows.values().get(name));
    }

    @Test(dataProvider = "unconvertible")
    public void unconvertibleBytesAreRejected(String name, Map<String, Object> row) {
        ValueDecoder decoder = new ValueDecoder(new RecordingReferences(), null);
        if (row.get("unconvertible_in").equals("python")) {
            decoder.decode(Vectors.bytes(row.get("hex")));
        } else {
            ConversionException error =
                    expectThrows(ConversionException.class, () -> decoder.decode(Vectors.bytes(row.get("hex"))));
            assertTrue(error.getMessage().contains("cannot be converted to Java"), error.getMessage());
        }
    }

    @Test(dataProvider = "malformed")
    public void malformedBytesAreRejected(String name, Map<String, Object> row) {
        ValueDecoder decoder = new ValueDecoder(new RecordingReferences(), null);
        expectThrows(MalformedValueException.class, () -> decoder.decode(Vectors.bytes(row.get("hex"))));
    }

    @Test
    public void everyValueHasAVector() throws IOException {
        Set<String> names = new HashSet<>();
        for (Map<String, Object> row : Vectors.read("values.json")) {
            names.add((String) row.get("name"));
            ((List<?>) row.getOrDefault("also_java", List.of()))
                    .forEach(label -> names.add(row.get("name") + "/" + label));
        }
        Set<String> unknown = new HashSet<>(ValueRows.values().keySet());
        unknown.removeAll(names);
        assertEquals(unknown, Set.of());
    }

    private static String encode(String name) {
        assertTrue(ValueRows.values().containsKey(name), "no Java value for the vector " + name);
        ValueBuffer out = new ValueBuffer();
        new ValueEncoder(new RecordingReferences(), Conversion.AUTO)
                .encode(ValueRows.values().get(name), out);
        return Vectors.hex(out.take());
    }

    /** Asserts equality of the values and of all classes in them. */
    private static void assertSame(Object actual, Object expected) {
        if (expected == null) {
            assertEquals(actual, null);
            return;
        }
        assertEquals(actual.getClass(), expected.getClass());
        if (expected instanceof byte[]) {
            assertTrue(Arrays.equals((byte[]) actual, (byte[]) expected));
        } else if (expected instanceof List) {
            assertEquals(((List<?>) actual).size(), ((List<?>) expected).size());
            Iterator<?> each = ((List<?>) actual).iterator();
            ((List<?>) expected).forEach(value -> assertSame(each.next(), value));
        } else if (expected instanceof Map) {
            Map<?, ?> map = (Map<?, ?>) expected;
            assertSame(new ArrayList<>(((Map<?, ?>) actual).keySet()), new ArrayList<>(map.keySet()));
            assertSame(new ArrayList<>(((Map<?, ?>) actual).values()), new ArrayList<>(map.values()));
        } else {
            assertTrue(expected.equals(actual), actual + " is not " + expected);
        }
    }
}
