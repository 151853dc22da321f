package io.pyrs;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertThrows;
import static org.testng.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.testng.annotations.Test;

/** Tests the search for classes by name. */
public class ClassesTest {
    private final ClassLoader loader = getClass().getClassLoader();

    @Test
    public void sourceNameOfNestedClassIsFound() throws Exception {
        assertEquals(Classes.find("java.util.Map.Entry", loader), Map.Entry.class);
    }

    @Test
    public void nameWithManyDotsTakesFewAttempts() {
        List<String> attempts = new ArrayList<>();
        ClassLoader recording = new ClassLoader(null) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                attempts.add(name);
                throw new ClassNotFoundException(name);
            }
        };
        assertThrows(ClassNotFoundException.class, () -> Classes.find("a" + ".b".repeat(500), recording));
        assertTrue(attempts.size() < 50, attempts.size() + " attempts");
    }
}
