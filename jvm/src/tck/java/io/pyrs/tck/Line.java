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
 * A connection between one thread here and one in Python. A call waits for its answer, and carries out the calls that come
 * instead: so a stack that goes to and fro is one stack on each side, and what the kit asks of threads and stacks (1.3, 2.3,
 * 3.3) is answered by Python's own behaviour.
 */
final class Line {
    private static final int CALL = 'C';
    private static final int RETURN = 'R';
    private static final int RAISE = 'T';

    private final Scope scope;
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    Line(Scope scope, Socket socket) throws IOException {
        this.scope = scope;
        this.socket = socket;
        socket.setTcpNoDelay(true);
        this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        this.out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    /** A connection to nobody. */
    Line(Scope scope) {
        this.scope = scope;
        this.socket = new Socket();
        this.in = new DataInputStream(DataInputStream.nullInputStream());
        this.out = new DataOutputStream(DataOutputStream.nullOutputStream());
    }

    /** The name of the thread in Python: messages of the kit's say which thread did what. */
    String introduction() throws IOException {
        return text();
    }

    void close() {
        scope.ended(this);
        try {
            socket.close();
        } catch (IOException ignored) {
            // It is closed.
        }
    }

    /** Calls Python, and throws what it raised. A call that comes when the test is over does nothing. */
    Object call(String method, long target, Object... arguments) {
        if (scope.isOver()) return null;
        try {
            out.writeByte(CALL);
            text(method);
            out.writeLong(target);
            out.writeByte(arguments.length);
            for (var argument : arguments) write(argument);
            out.flush();
            for (;;) {
                var kind = in.readUnsignedByte();
                if (kind == CALL) {
                    answer();
                } else {
                    var value = read();
                    if (kind == RETURN) return value;
                    throw Line.<RuntimeException>sneaky((Throwable) value);
                }
            }
        } catch (IOException gone) {
            close();
            if (scope.isOver()) return null;
            throw new IllegalStateException("the Python process does not answer", gone);
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E sneaky(Throwable error) throws E {
        throw (E) error;
    }

    /** Carries out calls until the other side has gone. */
    void serve() {
        try {
            while (in.readUnsignedByte() == CALL) answer();
        } catch (IOException gone) {
            // The Python thread has ended.
        } finally {
            close();
        }
    }

    private void answer() throws IOException {
        var method = text();
        var target = in.readLong();
        var arguments = new Object[in.readUnsignedByte()];
        for (var index = 0; index < arguments.length; index++) arguments[index] = read();
        Object value;
        var kind = RETURN;
        try {
            value = target == 0 ? Desk.serve(scope, method, arguments) : JavaCalls.call(scope.object(target), method, arguments);
        } catch (Throwable error) { // whatever it is, it is Python's to see
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
        } else if (value instanceof FromPython) {
            out.writeByte('p');
            out.writeLong(((FromPython) value).id());
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
            case 'n': return null;
            case 'l': return in.readLong();
            case 's': return text();
            case 'p': return new Remote(scope, in.readLong());
            case 'x': {
                var id = in.readLong();
                var kind = (char) in.readUnsignedByte();
                return PythonErrors.of(id, kind, text());
            }
            case 'j': return scope.object(in.readLong());
            default: throw new EOFException("no value begins with " + tag);
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
