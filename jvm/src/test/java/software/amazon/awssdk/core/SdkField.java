package software.amazon.awssdk.core;

import java.util.function.Function;

/** Test double of the declaration of a field of an SdkPojo. */
public final class SdkField<T> {
    private final String name;
    private final Function<Object, T> getter;

    public SdkField(String name, Function<Object, T> getter) {
        this.name = name;
        this.getter = getter;
    }

    public String memberName() {
        return name;
    }

    public T getValueOrDefault(Object instance) {
        return getter.apply(instance);
    }
}
