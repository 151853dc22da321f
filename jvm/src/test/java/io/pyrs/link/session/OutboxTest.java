package io.pyrs.link.session;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertTrue;

import io.pyrs.link.protocol.Frame;
import io.pyrs.link.protocol.FrameDecoder;
import io.pyrs.link.protocol.FrameType;
import io.pyrs.link.protocol.Frames;
import io.pyrs.value.SentReferences;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.testng.SkipException;
import org.testng.annotations.Test;
import reactor.core.scheduler.Schedulers;

public class OutboxTest {
    /** {@link Outbox#flush} returns while another thread writes. Closing the socket then would lose the last frame. */
    @Test(timeOut = 60_000)
    public void awaitLastWaitsForTheThreadThatWrites() throws Exception {
        CountDownLatch writing = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger frames = new AtomicInteger();
        AtomicInteger sent = new AtomicInteger();
        Outbox outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        writing.countDown();
                        while (go.getCount() > 0) {
                            Thread.onSpinWait();
                        }
                        frames.incrementAndGet();
                    }

                    @Override
                    public void flush() {
                        sent.set(frames.get());
                    }
                },
                () -> {});
        outbox.open();
        outbox.control(new byte[] {1});
        Thread writer = new Thread(outbox::write);
        writer.start();
        writing.await();
        outbox.last(new byte[] {2});
        outbox.flush();
        Thread closing = Thread.currentThread();
        Thread release = new Thread(() -> {
            while (closing.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            go.countDown();
        });
        release.setDaemon(true);
        release.start();
        outbox.awaitLast();
        assertEquals(sent.get(), 2);
        writer.join();
    }

    @Test
    public void largeBodyIsFragmentedAndJoined() {
        byte[] body = new byte[3 * Frames.MAX_BODY + 7];
        new Random(1).nextBytes(body);
        byte[] withHeaderSpace = new byte[Frames.HEADER + body.length];
        System.arraycopy(body, 0, withHeaderSpace, Frames.HEADER, body.length);
        FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
        List<Frame> messages = new ArrayList<>();
        List<Integer> sizes = new ArrayList<>();
        Outbox outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        sizes.add(length - Frames.HEADER);
                        messages.addAll(decoder.feed(bytes, offset, length));
                    }

                    @Override
                    public void flush() {}
                },
                () -> {});
        outbox.open();
        outbox.ready(new OutgoingMessage(FrameType.NEXT, 6, withHeaderSpace, SentReferences.NONE));
        outbox.write();
        assertEquals(sizes, List.of(Frames.MAX_BODY, Frames.MAX_BODY, Frames.MAX_BODY, 7));
        assertEquals(messages.size(), 1);
        assertTrue(Arrays.equals(messages.get(0).body, body));
    }

    @Test
    public void bodyInTwoBuffersIsFragmentedAsOne() {
        byte[] tail = new byte[2 * Frames.MAX_FRAGMENT + 7];
        new Random(1).nextBytes(tail);
        for (int headLength : new int[] {0, 3, Frames.MAX_FRAGMENT - 1, Frames.MAX_FRAGMENT, Frames.MAX_FRAGMENT + 1}) {
            byte[] bytes = new byte[Frames.HEADER + headLength];
            Arrays.fill(bytes, (byte) 5);
            byte[] body = Arrays.copyOfRange(bytes, Frames.HEADER, bytes.length + tail.length);
            System.arraycopy(tail, 0, body, headLength, tail.length);
            FrameDecoder decoder = new FrameDecoder(Frames.MAX_LENGTH);
            List<Frame> messages = new ArrayList<>();
            Outbox outbox = new Outbox(
                    new Outbox.Sink() {
                        @Override
                        public void write(byte[] written, int offset, int length) {
                            messages.addAll(decoder.feed(written, offset, length));
                        }

                        @Override
                        public void flush() {}
                    },
                    () -> {});
            outbox.open();
            outbox.ready(new OutgoingMessage(
                    FrameType.NEXT,
                    6,
                    bytes,
                    ByteBuffer.wrap(tail, 0, tail.length).slice(),
                    SentReferences.NONE));
            outbox.write();
            assertEquals(messages.size(), 1);
            assertTrue(Arrays.equals(messages.get(0).body, body));
            int frames = (body.length + Frames.MAX_FRAGMENT - 1) / Frames.MAX_FRAGMENT;
            assertEquals(outbox.framesOut(), frames);
            assertEquals(outbox.bytesOut(), body.length + (long) frames * Frames.HEADER);
        }
    }

    @Test
    public void controlFramesPrecedeRoundRobinSources() {
        List<String> written = new ArrayList<>();
        Outbox outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        written.add((bytes[offset + 4] & 0x7f) + ":" + bytes[offset + 12]); // type:stream
                    }

                    @Override
                    public void flush() {}
                },
                () -> {});
        outbox.open();
        outbox.ready(new OutgoingMessage(
                FrameType.NEXT, 1, new byte[Frames.HEADER + 2 * Frames.MAX_BODY], SentReferences.NONE));
        outbox.ready(new OutgoingMessage(
                FrameType.NEXT, 2, new byte[Frames.HEADER + 2 * Frames.MAX_BODY], SentReferences.NONE));
        outbox.control(Frames.request(3, 1));
        outbox.write();
        assertEquals(written, List.of("5:3", "7:1", "7:2", "7:1", "7:2"));
    }

    @Test
    public void noFrameFollowsTheLastOne() {
        for (boolean endless : new boolean[] {false, true}) {
            List<Integer> written = new ArrayList<>();
            Outbox[] holder = new Outbox[1];
            Outbox outbox = new Outbox(
                    new Outbox.Sink() {
                        @Override
                        public void write(byte[] bytes, int offset, int length) {
                            int type = bytes[offset + 4] & 0x7f;
                            written.add(type);
                            if (endless && type == FrameType.NEXT.code()) {
                                holder[0].ready(element());
                            }
                        }

                        @Override
                        public void flush() {}
                    },
                    () -> {});
            holder[0] = outbox;
            outbox.open();
            outbox.ready(element());
            outbox.control(Frames.request(5, 1));
            outbox.last(Frames.frame(FrameType.GOAWAY, 0, Frames.NOTHING));
            outbox.last(Frames.frame(FrameType.GOAWAY, 0, Frames.NOTHING));
            outbox.write();
            outbox.control(Frames.request(5, 1));
            outbox.ready(element());
            outbox.write();
            assertEquals(written.subList(0, 2), List.of(FrameType.REQUEST.code(), FrameType.NEXT.code()));
            assertEquals(written.indexOf(FrameType.GOAWAY.code()), written.size() - 1);
        }
    }

    private static OutgoingMessage element() {
        return new OutgoingMessage(FrameType.NEXT, 1, new byte[Frames.HEADER + 60_000], SentReferences.NONE);
    }

    /** Flushes an outbox on another thread, and checks that this leaves the frame to the writer thread. */
    private static void assertLeavesFramesToTheWriterThread(Executor executor) throws InterruptedException {
        List<Thread> writers = new ArrayList<>();
        AtomicInteger wakes = new AtomicInteger();
        Outbox outbox = new Outbox(
                new Outbox.Sink() {
                    @Override
                    public void write(byte[] bytes, int offset, int length) {
                        writers.add(Thread.currentThread());
                    }

                    @Override
                    public void flush() {}
                },
                wakes::incrementAndGet);
        outbox.open();
        outbox.control(Frames.request(3, 1));
        CountDownLatch flushed = new CountDownLatch(1);
        executor.execute(() -> {
            outbox.flush();
            flushed.countDown();
        });
        flushed.await();
        assertEquals(writers, List.of());
        assertEquals(wakes.get(), 1);
        outbox.flush();
        assertEquals(writers, List.of(Thread.currentThread()));
    }

    /** An interrupt of a virtual thread that waits in a write closes the socket, and with it the link. */
    @Test(timeOut = 60_000)
    public void virtualThreadLeavesItsFramesToTheWriterThread() throws Exception {
        assertLeavesFramesToTheWriterThread(OutboxTest::startVirtual);
    }

    /** BlockHound makes a write on such a thread fail, which would lose the frames of this and of other streams. */
    @Test(timeOut = 60_000)
    public void threadThatMustNotBlockLeavesItsFramesToTheWriterThread() throws Exception {
        assertLeavesFramesToTheWriterThread(Schedulers.parallel()::schedule);
    }

    private static void startVirtual(Runnable task) {
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (NoSuchMethodException olderJava) {
            throw new SkipException("virtual threads need Java 21");
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
