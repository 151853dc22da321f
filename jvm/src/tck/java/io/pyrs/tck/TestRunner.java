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

/** Serves the requests of Python: lists the tests of a verification, and runs one on the requesting thread. */
final class TestRunner {
    private static final ThreadLocal<Hooks> HOOKS = new ThreadLocal<>();
    private static final Map<String, Class<?>> VERIFICATIONS = Map.of(
            "publisher", Verifications.OfPublisher.class,
            "whitebox", Verifications.OfSubscriberWhitebox.class,
            "blackbox", Verifications.OfSubscriberBlackbox.class,
            "processor", Verifications.OfProcessor.class);

    private static final Pattern INFRASTRUCTURE = Pattern.compile("java\\.|jdk\\.|org\\.testng\\.|io\\.pyrs\\.tck\\.");

    private TestRunner() {}

    /** Returns the hooks of the test that this thread runs. TestNG creates a verification without arguments. */
    static Hooks hooks() {
        return HOOKS.get();
    }

    static Object serve(Scope scope, String method, Object[] arguments) {
        switch (method) {
            case "names":
                return names(verification(((String) arguments[0]).split(" ")[1]));
            case "run":
                return run(scope, arguments);
            case "release":
                scope.release((Long) arguments[0], (Long) arguments[1]);
                return null;
            case "collect":
                // The kit collects garbage once and waits 100 ms, which is too short on a busy machine.
                System.gc();
                return null;
            case "close":
                scope.close();
                return null;
            default:
                throw new IllegalArgumentException(method);
        }
    }

    private static Class<?> verification(String name) {
        return VERIFICATIONS.get(name);
    }

    /** Returns the names of the tests that TestNG would run, one per line. */
    private static String names(Class<?> kit) {
        var names = new ArrayList<String>();
        for (var method : kit.getMethods()) {
            var test = method.getAnnotation(Test.class);
            if (test != null && test.enabled() && !method.isBridge()) names.add(method.getName());
        }
        return String.join("\n", names);
    }

    /**
     * Runs one test.
     *
     * @param request "family verification", test, timeout, no-signals timeout and poll interval in milliseconds,
     *     reference timeout in milliseconds, buffer size of a Processor, debug flag, names of the overridden hooks
     * @return status, message, stack, Python frames and the Python exception
     */
    private static Object run(Scope scope, Object[] request) {
        var names = ((String) request[0]).split(" ");
        var environment =
                new Environment(scope, (Long) request[2], (Long) request[3], (Long) request[4], (Long) request[7] != 0);
        var overridden = new HashSet<>(Arrays.asList(((String) request[8]).split(" ")));
        var listener = new ResultListener(scope);
        HOOKS.set(new Hooks(
                scope,
                Family.of(names[0]),
                environment,
                (Long) request[5],
                ((Long) request[6]).intValue(),
                overridden));
        try {
            var suite = new XmlSuite();
            var test = new XmlTest(suite);
            var chosen = new XmlClass(verification(names[1]));
            chosen.setIncludedMethods(List.of(new XmlInclude((String) request[1])));
            test.setXmlClasses(List.of(chosen));
            var runner = new TestNG(false);
            runner.setVerbose(0);
            runner.setXmlSuites(List.of(suite));
            runner.addListener(listener);
            runner.run();
        } finally {
            HOOKS.remove();
        }
        return listener.verdict();
    }

    /** Collects the result that TestNG reports, in the form that {@link #run} returns. */
    private static final class ResultListener implements ITestListener, IConfigurationListener {
        private final List<ITestResult> results = new ArrayList<>();
        private final Scope scope;
        private Throwable preparationError;

        ResultListener(Scope scope) {
            this.scope = scope;
        }

        @Override
        public void onTestSuccess(ITestResult result) {
            results.add(result);
        }

        @Override
        public void onTestFailure(ITestResult result) {
            results.add(result);
        }

        @Override
        public void onTestSkipped(ITestResult result) {
            results.add(result);
        }

        @Override
        public void onConfigurationFailure(ITestResult result) {
            preparationError = result.getThrowable();
        }

        Object verdict() {
            if (preparationError != null)
                return failed("the kit failed to prepare the test: " + preparationError, preparationError);
            if (results.size() != 1) return failed("TestNG ran " + results.size() + " tests instead of one", null);
            var result = results.get(0);
            var error = result.getThrowable();
            // The exception determines the result, since TestNG reports some skipped tests as failures.
            if (error instanceof SkipException) return result("skipped", String.valueOf(error.getMessage()), error);
            if (result.getStatus() == ITestResult.SUCCESS && error == null) return result("passed", "", null);
            if (error == null) return failed("TestNG skipped the test without a reason", null);
            var message = error instanceof AssertionError ? String.valueOf(error.getMessage()) : error.toString();
            return failed(message, error);
        }

        private Object failed(String message, Throwable error) {
            return result("failed", message, error);
        }

        private Object result(String status, String message, Throwable error) {
            Object python = null;
            var frames = new StringBuilder();
            var seen = new IdentityHashMap<Throwable, Boolean>();
            for (var each = error; each != null && seen.put(each, true) == null; each = each.getCause()) {
                if (python == null && (each instanceof PythonProxy || scope.knows(each))) python = each;
                for (var suppressed : each.getSuppressed()) {
                    if (suppressed instanceof Environment.PythonFrames) frames.append(suppressed.getMessage());
                }
            }
            return new Object[] {status, message, error == null ? "" : stack(error), frames.toString(), python};
        }

        /** Formats the stack without the frames of TestNG, the JDK and this package. */
        private static String stack(Throwable error) {
            var text = new StringBuilder();
            var seen = new IdentityHashMap<Throwable, Boolean>();
            for (var each = error; each != null && seen.put(each, true) == null; each = each.getCause()) {
                text.append(each == error ? "" : "Caused by: ").append(each).append('\n');
                for (var frame : each.getStackTrace()) {
                    if (!INFRASTRUCTURE.matcher(frame.getClassName()).lookingAt())
                        text.append("\tat ").append(frame).append('\n');
                }
            }
            return text.toString();
        }
    }
}
