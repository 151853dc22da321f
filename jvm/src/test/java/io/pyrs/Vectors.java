package io.pyrs;

import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Reads the shared vectors as lists and maps; numbers are BigDecimal. */
public final class Vectors {
    private Vectors() {}

    @SuppressWarnings("unchecked")
    public static List<Map<String, Object>> read(String name) throws IOException {
        try (Reader reader =
                Files.newBufferedReader(Paths.get(System.getProperty("pyrs.vectors", "../tests/vectors"), name))) {
            return new GsonBuilder()
                    .setObjectToNumberStrategy(ToNumberPolicy.BIG_DECIMAL)
                    .create()
                    .fromJson(reader, List.class);
        }
    }

    /** Returns the rows of a data provider: name and vector. */
    public static Iterator<Object[]> rows(String name) throws IOException {
        return read(name).stream()
                .map(vector -> new Object[] {vector.get("name"), vector})
                .iterator();
    }

    public static long number(Object value) {
        return ((Number) value).longValue();
    }

    public static byte[] bytes(Object hex) {
        String text = (String) hex;
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    public static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte each : bytes) {
            hex.append(String.format("%02x", each));
        }
        return hex.toString();
    }
}
