package io.pyrs.value;

/** For data that never holds a reference, such as an error. No value stands for an object of the peer's here. */
class NoReferences implements References {
    static final NoReferences INSTANCE = new NoReferences();

    NoReferences() {}

    @Override
    public long own(Object value, int kind) {
        throw new ConversionException("a " + value.getClass().getName() + " has no form here");
    }

    @Override
    public int kindOf(Object value) {
        return 0;
    }

    @Override
    public long home(Object value) {
        return 0;
    }

    @Override
    public int homeKind(Object value) {
        return 0;
    }

    @Override
    public Object remote(int kind, long handle) {
        throw new MalformedValueException("a reference where none may be");
    }

    @Override
    public Object local(long handle) {
        throw new MalformedValueException("a reference where none may be");
    }
}
