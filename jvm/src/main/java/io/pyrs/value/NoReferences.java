package io.pyrs.value;

/** Rejects references, for data that never contains one, such as an error. */
class NoReferences implements References {
    static final NoReferences INSTANCE = new NoReferences();

    NoReferences() {}

    @Override
    public long own(Object value) {
        throw new ConversionException("a " + value.getClass().getName() + " cannot be converted here");
    }

    @Override
    public int kindCode(Object value) {
        return 0;
    }

    @Override
    public long peerHandle(Object value) {
        return 0;
    }

    @Override
    public int peerKindCode(Object value) {
        return 0;
    }

    @Override
    public Object remote(int kindCode, long handle) {
        throw new MalformedValueException("a reference where none is allowed");
    }

    @Override
    public Object local(long handle) {
        throw new MalformedValueException("a reference where none is allowed");
    }
}
