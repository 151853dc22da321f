package io.r2dbc.spi;

/** Test double with the methods that the converter uses. */
public interface Row {
    RowMetadata getMetadata();

    Object get(int index);
}
