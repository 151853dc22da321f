import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.example.unicast.AsyncIterablePublisher;

class AsyncIterablePublisherDemand {
  public static void main(String[] arguments) throws InterruptedException {
    var executor = Executors.newSingleThreadExecutor();
    var received = new AtomicInteger();
    List<Integer> numbers = IntStream.range(0, 5_000).boxed().toList();
    new AsyncIterablePublisher<>(numbers, executor).subscribe(new Subscriber<Integer>() {
      public void onSubscribe(Subscription subscription) {
        subscription.request(1_025); // more than its batch of 1,024
      }

      public void onNext(Integer number) {
        received.incrementAndGet();
      }

      public void onError(Throwable error) {}

      public void onComplete() {}
    });
    Thread.sleep(1_000);
    executor.shutdownNow();
    System.out.println(received + " of 1025");
  }
}
