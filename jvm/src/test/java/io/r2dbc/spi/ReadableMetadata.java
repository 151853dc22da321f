package io.r2dbc.spi;

/** Test double of the metadata of a column. */
public interface ReadableMetadata {
    String getName();
}
