package io.pyrs.tck;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * A connection between one Java thread and one Python thread.
 *
 * <p>While a call waits for its result, its thread executes the calls that arrive. Nested calls between the two
 * languages therefore share one stack on each side, so that the kit's checks of threads and stacks (rules 1.3, 2.3,
 * 3.3) measure the behaviour of the Python code.
 */
final class ThreadConnection {
    private static final int CALL = 'C';
    private static final int RETURN = 'R';
    private static final int RAISE = 'T';

    private final Scope scope;
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    ThreadConnection(Scope scope, Socket socket) throws IOException {
        this.scope = scope;
        this.socket = socket;
        socket.setTcpNoDelay(true);
        this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        this.out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    /** Creates a connection that is closed from the start. */
    ThreadConnection(Scope scope) {
        this.scope = scope;
        this.socket = new Socket();
        this.in = new DataInputStream(DataInputStream.nullInputStream());
        this.out = new DataOutputStream(DataOutputStream.nullOutputStream());
    }

    /** Reads the name of the Python thread, which the messages of the kit contain. */
    String peerThreadName() throws IOException {
        return text();
    }

    void close() {
        scope.closed(this);
        try {
            socket.close();
        } catch (IOException ignored) {
            // Nothing is left to close.
        }
    }

    /** Calls Python and throws the exception that it raises. Does nothing after the end of the test. */
    Object call(String method, long target, Object... arguments) {
        if (scope.isClosed()) return null;
        try {
            out.writeByte(CALL);
            text(method);
            out.writeLong(target);
            out.writeByte(arguments.length);
            for (var argument : arguments) write(argument);
            out.flush();
            for (; ; ) {
                var kind = in.readUnsignedByte();
                if (kind == CALL) {
                    execute();
                } else {
                    var value = read();
                    if (kind == RETURN) return value;
                    throw ThreadConnection.<RuntimeException>unchecked((Throwable) value);
                }
            }
        } catch (IOException gone) {
            close();
            if (scope.isClosed()) return null;
            throw new IllegalStateException("the connection to the Python process is lost", gone);
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable error) throws E {
        throw (E) error;
    }

    /** Executes calls from Python until the connection ends. */
    void serve() {
        try {
            while (in.readUnsignedByte() == CALL) execute();
        } catch (IOException gone) {
            // The Python thread has ended.
        } finally {
            close();
        }
    }

    private void execute() throws IOException {
        var method = text();
        var target = in.readLong();
        var arguments = new Object[in.readUnsignedByte()];
        for (var index = 0; index < arguments.length; index++) arguments[index] = read();
        Object value;
        var kind = RETURN;
        try {
            value = target == 0
                    ? TestRunner.serve(scope, method, arguments)
                    : JavaCalls.call(scope.object(target), method, arguments);
        } catch (Throwable error) { // every error is sent to Python
            value = error;
            kind = RAISE;
        }
        out.writeByte(kind);
        write(value);
        out.flush();
    }

    private void write(Object value) throws IOException {
        if (value == null) {
            out.writeByte('n');
        } else if (value instanceof Long) {
            out.writeByte('l');
            out.writeLong((Long) value);
        } else if (value instanceof String) {
            out.writeByte('s');
            text((String) value);
        } else if (value instanceof PythonProxy) {
            out.writeByte('p');
            out.writeLong(((PythonProxy) value).id());
        } else if (value instanceof Object[]) {
            out.writeByte('a');
            out.writeByte(((Object[]) value).length);
            for (var each : (Object[]) value) write(each);
        } else {
            out.writeByte('j');
            out.writeLong(scope.number(value));
            out.writeByte(JavaCalls.kind(value));
            text(value instanceof Throwable ? String.valueOf(value) : "");
        }
    }

    private Object read() throws IOException {
        var tag = in.readUnsignedByte();
        switch (tag) {
            case 'n':
                return null;
            case 'l':
                return in.readLong();
            case 's':
                return text();
            case 'p':
                return new PythonObject(scope, in.readLong());
            case 'x': {
                var id = in.readLong();
                var kind = (char) in.readUnsignedByte();
                return PythonThrowables.of(id, kind, text());
            }
            case 'j':
                return scope.object(in.readLong());
            default:
                throw new EOFException("unknown tag of a value: " + tag);
        }
    }

    private void text(String text) throws IOException {
        var bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private String text() throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }
}
