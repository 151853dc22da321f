package interop;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.util.context.ContextView;

/** Reactor pipelines whose spans an in-memory exporter of OpenTelemetry's SDK records. */
public final class Traces {
    private static final InMemorySpanExporter EXPORTER = InMemorySpanExporter.create();
    private static final Tracer TRACER = SdkTracerProvider.builder()
            .addSpanProcessor(SimpleSpanProcessor.create(EXPORTER))
            .build()
            .get("interop");
    private static final W3CTraceContextPropagator PROPAGATOR = W3CTraceContextPropagator.getInstance();

    private Traces() {}

    /** Emits three numbers, in a span whose parent is in the Subscriber's Context. */
    public static Flux<Integer> source(String name) {
        return Flux.deferContextual(view -> {
            Span span = TRACER.spanBuilder(name)
                    .setParent(PROPAGATOR.extract(Context.root(), view, new Getter()))
                    .startSpan();
            return Flux.range(0, 3).doOnTerminate(span::end);
        });
    }

    /** Subscribes in a new span, which is in the Context of the Subscriber, and returns the elements. */
    public static List<Object> collect(Publisher<?> publisher, String name) {
        Span span = TRACER.spanBuilder(name).setNoParent().startSpan();
        Map<String, String> entries = new HashMap<>();
        PROPAGATOR.inject(Context.root().with(span), entries, Map::put);
        try {
            return Flux.from(publisher)
                    .cast(Object.class)
                    .contextWrite(reactor.util.context.Context.of(entries))
                    .collectList()
                    .block(Duration.ofSeconds(60));
        } finally {
            span.end();
        }
    }

    /** Returns a line for each finished span: its name, trace, identifier and parent. */
    public static List<String> finished() {
        List<String> lines = EXPORTER.getFinishedSpanItems().stream()
                .map(each -> String.join(" ", each.getName(), each.getTraceId(), each.getSpanId(), each.getParentSpanId()))
                .collect(Collectors.toList());
        EXPORTER.reset();
        return lines;
    }

    private static final class Getter implements TextMapGetter<ContextView> {
        @Override
        public Iterable<String> keys(ContextView view) {
            return List.of("traceparent", "tracestate");
        }

        @Override
        public String get(ContextView view, String key) {
            return view == null ? null : view.getOrDefault(key, null);
        }
    }
}
