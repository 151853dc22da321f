package interop;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;

/** Reactor pipelines that read or write the Context. */
public final class Contexts {
    private Contexts() {}

    /** Emits the value of the Context for each Subscriber. */
    public static Flux<String> read(String key) {
        return Flux.deferContextual(context -> Flux.just(context.getOrDefault(key, "none")));
    }

    public static Mono<String> readMono(String key) {
        return Mono.deferContextual(context -> Mono.just(context.getOrDefault(key, "none")));
    }

    /** Subscribes with a Context, and returns the elements. */
    public static List<Object> collect(Publisher<?> publisher, String key, Object value) {
        return Flux.from(publisher)
                .cast(Object.class)
                .contextWrite(Context.of(Map.of(key, value, 7, "a number as key")))
                .collectList()
                .block(Duration.ofSeconds(60));
    }
}
