/**
 * The value and error tables of docs/values.md: encoding, decoding, element types and conversions, including those of
 * third-party classes. It knows references only as handles.
 */
package io.pyrs.value;
