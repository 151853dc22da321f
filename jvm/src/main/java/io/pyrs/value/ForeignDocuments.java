package io.pyrs.value;

import io.pyrs.value.Foreign.Maker;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** Converters of BSON types without a JSON counterpart, and of other small values. A document is a map already. */
final class ForeignDocuments {
    private ForeignDocuments() {}

    static void addTo(Map<String, Maker> makers) {
        makers.put("org.bson.types.ObjectId", Getters.single("toHexString"));
        makers.put("org.bson.types.Decimal128", Getters.single("bigDecimalValue"));
        makers.put("org.bson.types.Symbol", Getters.single("getSymbol"));
        makers.put("org.bson.BsonObjectId", Getters.single("getValue.toHexString"));
        makers.put("org.bson.BsonDecimal128", Getters.single("getValue.bigDecimalValue"));
        makers.put("org.bson.BsonSymbol", Getters.single("getSymbol"));
        makers.put("org.bson.BsonNull", type -> value -> null);
        for (String each : new String[] {"BsonString", "BsonInt32", "BsonInt64", "BsonDouble", "BsonBoolean"}) {
            makers.put("org.bson." + each, Getters.single("getValue"));
        }
        makers.put("org.bson.BsonDateTime", type -> {
            Foreign.Converter millis = Getters.path(type, "getValue");
            return value -> Instant.ofEpochMilli((Long) millis.plain(value));
        });
        makers.put("org.bson.BsonTimestamp", type -> {
            Foreign.Converter time = Getters.path(type, "getTime");
            Foreign.Converter inc = Getters.path(type, "getInc");
            return value -> {
                Map<String, Object> dict = new LinkedHashMap<>();
                dict.put("time", Instant.ofEpochSecond((Integer) time.plain(value)));
                dict.put("inc", inc.plain(value));
                return dict;
            };
        });
        makers.put("io.vertx.core.json.JsonObject", Getters.single("getMap"));
        makers.put("io.vertx.core.json.JsonArray", Getters.single("getList"));
        // JDK classes whose getters would query name servers and file systems.
        makers.put("java.net.InetAddress", Getters.single("getHostAddress"));
        makers.put("java.net.URI", Getters.single("toString"));
        makers.put("java.nio.file.Path", Getters.single("toString"));
    }
}
