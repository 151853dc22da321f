package io.pyrs.value;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Enough of JSON to read the shared vectors: no test needs a library for it. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> vectors(String name) throws IOException {
        Path file = Paths.get(System.getProperty("pyrs.vectors", "../tests/vectors"), name);
        return (List<Map<String, Object>>) new Json(Files.readString(file, StandardCharsets.UTF_8)).value();
    }

    private Object value() {
        switch (peek()) {
            case '{':
                Map<String, Object> map = new LinkedHashMap<>();
                for (at++; peek() != '}'; comma('}')) {
                    String key = (String) value();
                    peek();
                    at++; // the colon
                    map.put(key, value());
                }
                at++;
                return map;
            case '[':
                List<Object> list = new ArrayList<>();
                for (at++; peek() != ']'; comma(']')) {
                    list.add(value());
                }
                at++;
                return list;
            case '"':
                return string();
            default:
                int start = at;
                while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                String word = text.substring(start, at);
                return word.equals("true") ? Boolean.TRUE : word.equals("null") ? null : (Object) word;
        }
    }

    private void comma(char end) {
        if (peek() != end) {
            at++;
        }
    }

    private String string() {
        StringBuilder result = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c != '\\') {
                result.append(c);
                continue;
            }
            c = text.charAt(++at);
            if (c == 'u') {
                result.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                result.append(c == 'n' ? '\n' : c == 't' ? '\t' : c);
            }
        }
        at++;
        return result.toString();
    }

    private char peek() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return text.charAt(at);
    }
}
