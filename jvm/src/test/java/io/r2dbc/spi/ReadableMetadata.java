package io.r2dbc.spi;

/** What a column says of itself. */
public interface ReadableMetadata {
    String getName();
}
