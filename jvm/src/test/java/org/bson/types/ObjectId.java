package org.bson.types;

/** As much of BSON's as the converter uses. */
public final class ObjectId {
    public String toHexString() {
        return "507f1f77bcf86cd799439011";
    }
}
