package interop;

import akka.actor.ActorSystem;
import akka.stream.Materializer;
import akka.stream.javadsl.AsPublisher;
import akka.stream.javadsl.Flow;
import akka.stream.javadsl.Sink;
import akka.stream.javadsl.Source;
import com.typesafe.config.ConfigFactory;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import scala.concurrent.Await;
import scala.concurrent.duration.Duration;

/** An actor system, and calls of Akka's Java API whose types neither gateway can express. */
public final class Akka {
    private final ActorSystem system;
    private final Materializer materializer;

    public Akka() {
        ClassLoader loader = Akka.class.getClassLoader();
        String settings = "akka.daemonic = on\nakka.loglevel = OFF\nakka.stdout-loglevel = OFF\n"
                + "akka.actor.default-dispatcher.fork-join-executor.parallelism-max = 2";
        system = ActorSystem.create("interop", ConfigFactory.parseString(settings).withFallback(ConfigFactory.load(loader)), loader);
        materializer = Materializer.createMaterializer(system);
    }

    public Publisher<Object> publisher(Source<?, ?> source) {
        return source.<Object>map(element -> element).runWith(Sink.asPublisher(AsPublisher.WITHOUT_FANOUT), materializer);
    }

    public void run(Source<?, ?> source, Subscriber<Object> subscriber) {
        source.<Object>map(element -> element).runWith(Sink.fromSubscriber(subscriber), materializer);
    }

    public static Source<Object, ?> numbers(int from, int to) {
        return Source.range(from, to).map(number -> number);
    }

    public static Source<Object, ?> from(Publisher<Object> publisher) {
        return Source.fromPublisher(publisher);
    }

    public static Source<Object, ?> failed(Throwable error) {
        return Source.failed(error);
    }

    public static Source<Object, ?> watched(Source<Object, ?> source, Watch watch) {
        return source.map(watch.akkaElementFunction()).watchTermination((left, done) -> {
            // Every termination calls the Watch. Tests that await a cancel use a source that does not complete before it.
            done.whenComplete((ok, error) -> watch.run());
            return left;
        });
    }

    public static Source<Object, ?> via(Source<Object, ?> source, Processor<Object, Object> processor) {
        return source.via(Flow.fromProcessor(() -> processor));
    }

    /** Doubles the elements, which must be Integers. */
    public static Source<Object, ?> doubled(Source<?, ?> source) {
        return source.map(element -> (Object) ((Integer) element * 2));
    }

    public void close() throws Exception {
        system.terminate();
        Await.ready(system.whenTerminated(), Duration.create(20, TimeUnit.SECONDS));
    }
}
