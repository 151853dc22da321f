package interop;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;

/** Calls the JDK's HTTP client. Its implementation classes are not exported, so Py4J cannot call their methods. */
public final class Http {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private CompletableFuture<? extends HttpResponse<?>> exchange;

    /** Sends the Publisher's bytes as the request body. */
    public void post(String address, Flow.Publisher<ByteBuffer> body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(40))
                .POST(BodyPublishers.fromPublisher(body)).build();
        exchange = client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }

    /** Sends the response body to the Subscriber. */
    public void get(String address, Flow.Subscriber<List<ByteBuffer>> subscriber) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(40)).build();
        exchange = client.sendAsync(request, BodyHandlers.fromSubscriber(subscriber));
    }

    /** Sends one body and receives another, both as streams. */
    public void exchange(String address, Flow.Publisher<ByteBuffer> body, Flow.Subscriber<List<ByteBuffer>> subscriber) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(40))
                .POST(BodyPublishers.fromPublisher(body)).build();
        exchange = client.sendAsync(request, BodyHandlers.fromSubscriber(subscriber));
    }

    /** Returns the response body as a Publisher. */
    public Flow.Publisher<List<ByteBuffer>> open(String address) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(40)).build();
        CompletableFuture<HttpResponse<Flow.Publisher<List<ByteBuffer>>>> started =
                client.sendAsync(request, BodyHandlers.ofPublisher());
        exchange = started;
        return started.get(20, TimeUnit.SECONDS).body();
    }

    public int status(long milliseconds) throws Exception {
        return exchange.get(milliseconds, TimeUnit.MILLISECONDS).statusCode();
    }

    public String text(long milliseconds) throws Exception {
        return String.valueOf(exchange.get(milliseconds, TimeUnit.MILLISECONDS).body());
    }

    /** Returns the innermost cause of a failed exchange. */
    public Throwable failure(long milliseconds) throws Exception {
        Throwable error = exchange.handle((response, thrown) -> thrown).get(milliseconds, TimeUnit.MILLISECONDS);
        while (error != null && (error instanceof CompletionException || error.getCause() != null)) {
            error = error.getCause();
        }
        return error;
    }
}
