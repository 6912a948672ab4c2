package throughline.plan;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/**
 * The run ids that the OpenLineage listener assigns to an execution and its application. They are random, and in
 * private fields (versions 1.12 to 1.53); without it, or in another version, both are derived from names.
 */
final class OpenLineageRuns {
  private static final String LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener";
  private static final UUID NAMESPACE_URL = UUID.fromString("6ba7b811-9dad-11d1-80b4-00c04fd430c8");
  private final SparkConf conf;
  private Object listener;

  OpenLineageRuns(SparkConf conf) {
    this.conf = conf;
  }

  /** The listener's run of the execution; null without a listener, before the run's start and after its end. */
  String run(SparkContext context, long execution) {
    Object registry = Reflection.field(listener(context), "sparkSqlExecutionRegistry");
    Object of = registry instanceof Map ? ((Map<?, ?>) registry).get(execution) : null;
    Object found = of == null ? null : Reflection.field(of, "olContext");
    String id = found == null ? "" : Reflection.text(found, "getRunUuid");
    return id.isEmpty() ? null : id;
  }

  /** Whether the session has the OpenLineage listener. */
  boolean isThere(SparkContext context) {
    return listener(context) != this;
  }

  /** The application's run id, job name and job namespace. */
  String[] application(SparkContext context) {
    Object factory = Reflection.field(listener(context), "contextFactory");
    Object emitter = factory == null ? null : Reflection.field(factory, "openLineageEventEmitter");
    Object id = emitter == null ? null : Reflection.field(emitter, "applicationRunId");
    String namespace = conf.get("spark.openlineage.namespace", "default");
    if (id != null) {
      return new String[] {
        id.toString(),
        String.valueOf(Reflection.field(emitter, "applicationJobName")),
        String.valueOf(Reflection.field(emitter, "jobNamespace"))
      };
    }
    String name = conf.get("spark.openlineage.appName", context.appName());
    return new String[] {made("throughline:" + context.applicationId()), snakeCase(name), namespace};
  }

  /** A run id for an execution that the listener does not know. */
  static String made(String name) {
    try {
      MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
      sha1.update(ByteBuffer.allocate(16)
          .putLong(NAMESPACE_URL.getMostSignificantBits()).putLong(NAMESPACE_URL.getLeastSignificantBits()).array());
      ByteBuffer hash = ByteBuffer.wrap(sha1.digest(name.getBytes(StandardCharsets.UTF_8)));
      long high = hash.getLong() & ~0xF000L | 0x5000L;
      long low = hash.getLong() & ~(3L << 62) | 1L << 63;
      return new UUID(high, low).toString(); // RFC 9562, version 5
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** A job's name in the listener's form: words in lower case, joined by `_`. */
  static String snakeCase(String name) {
    return name.replaceAll("([a-z0-9])([A-Z])", "$1_$2").replaceAll("[^A-Za-z0-9]+", "_").toLowerCase();
  }

  private Object listener(SparkContext context) {
    if (listener == null) {
      Object all = Reflection.call(Reflection.call(context, "listenerBus"), "listeners");
      for (Object each : all instanceof Iterable ? (Iterable<?>) all : new java.util.ArrayList<>()) {
        if (each.getClass().getName().equals(LISTENER)) {
          listener = each;
        }
      }
    }
    return listener == null ? this : listener;
  }
}
