package io.pyrs.value;

import io.pyrs.value.ForeignWriters.ConverterFactory;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Converters of BSON scalars, of the JSON containers of Vert.x, and of addresses and paths of the JDK.
 *
 * <p>A BSON document needs no converter, because it is a {@code Map}.
 */
final class ForeignDocuments {
    private ForeignDocuments() {}

    static void addTo(Map<String, ConverterFactory> factories) {
        factories.put("org.bson.types.ObjectId", GetterConverters.single("toHexString"));
        factories.put("org.bson.types.Decimal128", GetterConverters.single("bigDecimalValue"));
        factories.put("org.bson.types.Symbol", GetterConverters.single("getSymbol"));
        factories.put("org.bson.BsonObjectId", GetterConverters.single("getValue.toHexString"));
        factories.put("org.bson.BsonDecimal128", GetterConverters.single("getValue.bigDecimalValue"));
        factories.put("org.bson.BsonSymbol", GetterConverters.single("getSymbol"));
        factories.put("org.bson.BsonNull", type -> value -> null);
        for (String each : new String[] {"BsonString", "BsonInt32", "BsonInt64", "BsonDouble", "BsonBoolean"}) {
            factories.put("org.bson." + each, GetterConverters.single("getValue"));
        }
        factories.put("org.bson.BsonDateTime", type -> {
            ForeignWriters.Converter millis = GetterConverters.path(type, "getValue");
            return value -> Instant.ofEpochMilli((Long) millis.plain(value));
        });
        factories.put("org.bson.BsonTimestamp", type -> {
            ForeignWriters.Converter time = GetterConverters.path(type, "getTime");
            ForeignWriters.Converter inc = GetterConverters.path(type, "getInc");
            return value -> {
                Map<String, Object> dict = new LinkedHashMap<>();
                dict.put("time", Instant.ofEpochSecond((Integer) time.plain(value)));
                dict.put("inc", inc.plain(value));
                return dict;
            };
        });
        factories.put("io.vertx.core.json.JsonObject", GetterConverters.single("getMap"));
        factories.put("io.vertx.core.json.JsonArray", GetterConverters.single("getList"));
        // The getters of these JDK classes would query name servers, file systems and web servers.
        factories.put("java.net.InetAddress", GetterConverters.single("getHostAddress"));
        factories.put(
                "java.net.InetSocketAddress",
                GetterConverters.dict(
                        "address=getAddress", "hostString=getHostString", "port=getPort", "unresolved=isUnresolved"));
        for (String each : new String[] {"java.net.URI", "java.net.URL", "java.nio.file.Path", "java.io.File"}) {
            factories.put(each, GetterConverters.single("toString"));
        }
    }
}
