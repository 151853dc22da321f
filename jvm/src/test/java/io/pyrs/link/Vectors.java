package io.pyrs.link;

import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** The shared vectors, as lists and maps; whole numbers are Long. */
final class Vectors {
    private Vectors() {}

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> read(String name) throws IOException {
        try (Reader reader = Files.newBufferedReader(
                Paths.get(System.getProperty("pyrs.vectors", "../tests/vectors"), name))) {
            return new GsonBuilder()
                    .setObjectToNumberStrategy(ToNumberPolicy.BIG_DECIMAL)
                    .create()
                    .fromJson(reader, List.class);
        }
    }

    /** A data provider's rows: name and vector. */
    static Iterator<Object[]> rows(String name) throws IOException {
        return read(name).stream().map(vector -> new Object[] {vector.get("name"), vector}).iterator();
    }

    static long number(Object value) {
        return ((Number) value).longValue();
    }

    static byte[] bytes(Object hex) {
        String text = (String) hex;
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte each : bytes) {
            hex.append(String.format("%02x", each));
        }
        return hex.toString();
    }
}
