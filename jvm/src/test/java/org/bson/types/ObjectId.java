package org.bson.types;

/** Test double with the methods that the converter uses. */
public final class ObjectId {
    public String toHexString() {
        return "507f1f77bcf86cd799439011";
    }
}
