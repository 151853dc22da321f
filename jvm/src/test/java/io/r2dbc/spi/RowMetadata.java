package io.r2dbc.spi;

import java.util.List;

/** Test double of the metadata of a row. */
public interface RowMetadata {
    List<? extends ReadableMetadata> getColumnMetadatas();
}
