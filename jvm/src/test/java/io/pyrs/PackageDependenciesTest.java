package io.pyrs;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.testng.annotations.Test;

/** A package imports only packages that follow it in the list, so there is no cycle. */
public class PackageDependenciesTest {
    private static final List<String> ORDER = List.of(
            "io.pyrs.bridge",
            "io.pyrs.mirror",
            "io.pyrs.link.connection",
            "io.pyrs.link.session",
            "io.pyrs.link.protocol",
            "io.pyrs.invoke",
            "io.pyrs.value",
            "io.pyrs");
    private static final Pattern IMPORT = Pattern.compile("^import (io\\.pyrs[a-z.]*)\\.[A-Z].*;", Pattern.MULTILINE);

    @Test
    public void packagesImportOnlyLaterPackages() throws IOException {
        Path root = Paths.get("src/main/java");
        List<String> violations = new ArrayList<>();
        List<Path> sources;
        try (Stream<Path> files = Files.walk(root)) {
            sources = files.filter(file -> file.toString().endsWith(".java")).collect(Collectors.toList());
        }
        assertTrue(sources.size() > 50, "sources: " + sources.size());
        for (Path source : sources) {
            String folder = root.relativize(source.getParent()).toString();
            int position = ORDER.indexOf(folder.replace('/', '.').replace('\\', '.'));
            assertTrue(position >= 0, "unknown package: " + folder);
            Matcher imports = IMPORT.matcher(Files.readString(source));
            while (imports.find()) {
                if (ORDER.indexOf(imports.group(1)) < position) {
                    violations.add(source + " imports " + imports.group(1));
                }
            }
        }
        assertEquals(violations, List.of());
    }
}
