package io.r2dbc.spi;

/** As much of R2DBC's as the converter uses. */
public interface Row {
    RowMetadata getMetadata();

    Object get(int index);
}
