package io.r2dbc.spi;

import java.util.List;

/** What a row says of its columns. */
public interface RowMetadata {
    List<? extends ReadableMetadata> getColumnMetadatas();
}
