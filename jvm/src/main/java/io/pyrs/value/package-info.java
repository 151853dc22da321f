/**
 * The value and error tables of docs/values.md: encoding, decoding, element types and conversions, including those of
 * third-party classes. References are only handles here.
 */
package io.pyrs.value;
