/**
 * The value and error tables of docs/values.md: encoding, decoding, element types and conversions, including those of
 * third-party classes. A reference is only a handle in this package.
 */
package io.pyrs.value;
