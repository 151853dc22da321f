package io.pyrs.tck;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.testng.IConfigurationListener;
import org.testng.ITestListener;
import org.testng.ITestResult;
import org.testng.SkipException;
import org.testng.TestNG;
import org.testng.annotations.Test;
import org.testng.xml.XmlClass;
import org.testng.xml.XmlInclude;
import org.testng.xml.XmlSuite;
import org.testng.xml.XmlTest;

/** What Python asks of the kit: which tests there are, and to run one, on the thread that asks. */
final class Desk {
    private static final ThreadLocal<Hooks> HOOKS = new ThreadLocal<>();
    private static final Map<String, Class<?>> KITS = Map.of(
            "reactive-streams publisher", ReactiveKits.Publishers.class,
            "reactive-streams whitebox", ReactiveKits.Whiteboxes.class,
            "reactive-streams blackbox", ReactiveKits.Blackboxes.class,
            "reactive-streams processor", ReactiveKits.Processors.class,
            "flow publisher", FlowKits.Publishers.class,
            "flow whitebox", FlowKits.Whiteboxes.class,
            "flow blackbox", FlowKits.Blackboxes.class,
            "flow processor", FlowKits.Processors.class);

    private static final Pattern MACHINERY = Pattern.compile("java\\.|jdk\\.|org\\.testng\\.|io\\.pyrs\\.tck\\.");

    private Desk() {}

    /** The hooks of the test that this thread runs: TestNG makes the kits itself, and gives them nothing. */
    static Hooks hooks() {
        return HOOKS.get();
    }

    static Object serve(Scope scope, String method, Object[] arguments) {
        switch (method) {
            case "names": return names(KITS.get((String) arguments[0]));
            case "run": return run(scope, arguments);
            case "release":
                scope.release((Long) arguments[0], (Long) arguments[1]);
                return null;
            case "collect":
                // The kit collects once and looks for a tenth of a second: on a busy machine that alone is too short.
                System.gc();
                return null;
            case "close": scope.close(); return null;
            default: throw new IllegalArgumentException(method);
        }
    }

    /** The tests that TestNG would run. */
    private static String names(Class<?> kit) {
        var names = new ArrayList<String>();
        for (var method : kit.getMethods()) {
            var test = method.getAnnotation(Test.class);
            if (test != null && test.enabled() && !method.isBridge()) names.add(method.getName());
        }
        return String.join("\n", names);
    }

    private static Object run(Scope scope, Object[] with) {
        var env = new Environment(scope, (Long) with[2], (Long) with[3], (Long) with[4], (Long) with[7] != 0);
        var written = new HashSet<>(Arrays.asList(((String) with[8]).split(" ")));
        var watch = new Watch(scope);
        HOOKS.set(new Hooks(scope, env, (Long) with[5], ((Long) with[6]).intValue(), written));
        try {
            var suite = new XmlSuite();
            var test = new XmlTest(suite);
            var chosen = new XmlClass(KITS.get((String) with[0]));
            chosen.setIncludedMethods(List.of(new XmlInclude((String) with[1])));
            test.setXmlClasses(List.of(chosen));
            var runner = new TestNG(false);
            runner.setVerbose(0);
            runner.setXmlSuites(List.of(suite));
            runner.addListener(watch);
            runner.run();
        } finally {
            HOOKS.remove();
        }
        return watch.verdict();
    }

    /** Hears what TestNG says, and says it again: status, message, stack, Python's frames, the exception if Python knows it. */
    private static final class Watch implements ITestListener, IConfigurationListener {
        private final List<ITestResult> results = new ArrayList<>();
        private final Scope scope;
        private Throwable unprepared;

        Watch(Scope scope) {
            this.scope = scope;
        }

        @Override public void onTestSuccess(ITestResult result) {
            results.add(result);
        }

        @Override public void onTestFailure(ITestResult result) {
            results.add(result);
        }

        @Override public void onTestSkipped(ITestResult result) {
            results.add(result);
        }

        @Override public void onConfigurationFailure(ITestResult result) {
            unprepared = result.getThrowable();
        }

        Object verdict() {
            if (unprepared != null) return failed("the kit could not prepare the test: " + unprepared, unprepared);
            if (results.size() != 1) return failed("TestNG ran " + results.size() + " tests and not one", null);
            var result = results.get(0);
            var error = result.getThrowable();
            // By the exception, not by the status: TestNG calls one that skips a failure in some places.
            if (error instanceof SkipException) return said("skipped", String.valueOf(error.getMessage()), error);
            if (result.getStatus() == ITestResult.SUCCESS && error == null) return said("passed", "", null);
            if (error == null) return failed("TestNG skipped the test and gives no reason", null);
            var message = error instanceof AssertionError ? String.valueOf(error.getMessage()) : error.toString();
            return failed(message, error);
        }

        private Object failed(String message, Throwable error) {
            return said("failed", message, error);
        }

        private Object said(String status, String message, Throwable error) {
            Object python = null;
            var frames = new StringBuilder();
            var seen = new IdentityHashMap<Throwable, Boolean>();
            for (var each = error; each != null && seen.put(each, true) == null; each = each.getCause()) {
                if (python == null && (each instanceof FromPython || scope.knows(each))) python = each;
                for (var suppressed : each.getSuppressed()) {
                    if (suppressed instanceof Environment.PythonFrames) frames.append(suppressed.getMessage());
                }
            }
            return new Object[] {status, message, error == null ? "" : stack(error), frames.toString(), python};
        }

        /** The stack without what runs every test. */
        private static String stack(Throwable error) {
            var text = new StringBuilder();
            var seen = new IdentityHashMap<Throwable, Boolean>();
            for (var each = error; each != null && seen.put(each, true) == null; each = each.getCause()) {
                text.append(each == error ? "" : "Caused by: ").append(each).append('\n');
                for (var frame : each.getStackTrace()) {
                    if (!MACHINERY.matcher(frame.getClassName()).lookingAt()) text.append("\tat ").append(frame).append('\n');
                }
            }
            return text.toString();
        }
    }
}
