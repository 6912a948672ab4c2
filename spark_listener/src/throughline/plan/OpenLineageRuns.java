package throughline.plan;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * The run ids that the OpenLineage listener assigns to an execution and its application. They are random, and in
 * private fields (versions 1.12 to 1.53); without it, or in another version, both are derived from names.
 */
final class OpenLineageRuns {
  private static final String LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener";
  private static final String FACTORY = "createSparkSQLExecutionContext";
  private static final UUID NAMESPACE_URL = UUID.fromString("6ba7b811-9dad-11d1-80b4-00c04fd430c8");
  private static final String UNKNOWN = "unknown";
  private final SparkConf conf;
  private final Object ours;
  private Object listener;
  private boolean isSettled;
  private boolean leads;

  OpenLineageRuns(SparkConf conf, PlanListener ours) {
    this.conf = conf;
    this.ours = ours;
  }

  /**
   * The listener's run of an execution that starts or ends (`end`, else null); null if it has none. The listener gets a
   * run at its first event of an execution: if that was too late for the start, one with a random id for the end alone.
   * So this makes the run, in the listener's own way, just before the listener would.
   */
  String run(SparkContext context, Executions.Execution execution, SparkListenerSQLExecutionEnd end) {
    Object registry = Reflection.field(listener(context), "sparkSqlExecutionRegistry");
    if (!(registry instanceof Map)) {
      return execution.run;
    }
    @SuppressWarnings("unchecked")
    Map<Object, Object> runs = (Map<Object, Object>) registry;
    if (leads && execution.run == null && execution.plan != null && !runs.containsKey(execution.id)) {
      Object made = made(execution.id, end);
      if (made != null) {
        runs.put(execution.id, made);
      }
    }
    Object of = Reflection.field(runs.get(execution.id), "olContext");
    Object id = Reflection.call(of, "getRunUuid");
    return id == null ? execution.run : id.toString();
  }

  private Object made(long execution, SparkListenerSQLExecutionEnd end) {
    try {
      Object factory = Reflection.field(listener, "contextFactory");
      Object made = end == null
          ? factory.getClass().getMethod(FACTORY, long.class).invoke(factory, execution)
          : factory.getClass().getMethod(FACTORY, SparkListenerSQLExecutionEnd.class).invoke(factory, end);
      return made instanceof Optional ? ((Optional<?>) made).orElse(null) : null;
    } catch (ReflectiveOperationException | RuntimeException | LinkageError unlike) {
      return null; // another version: the receiver joins by time and output
    }
  }

  /** From the next event on Spark calls the listener after ours, in the same thread. */
  void lead(SparkContext context) {
    if (isSettled) {
      return;
    }
    isSettled = true;
    Object theirs = listener(context);
    Object queues = Reflection.field(Reflection.call(context, "listenerBus"), "queues");
    for (Object queue : queues instanceof Iterable ? (Iterable<?>) queues : Collections.emptyList()) {
      Object order = Reflection.call(queue, "listeners");
      int place = order instanceof List ? ((List<?>) order).indexOf(theirs) : -1;
      if (place < 0 || !((List<?>) order).contains(ours)) {
        continue;
      }
      try {
        if (place < ((List<?>) order).indexOf(ours)) {
          queue.getClass().getMethod("addListener", Object.class).invoke(queue, theirs);
          queue.getClass().getMethod("removeListener", Object.class).invoke(queue, theirs); // the first of the two
        }
        leads = true;
      } catch (ReflectiveOperationException | RuntimeException unlike) {
        return;
      }
    }
  }

  /** The application's run id, job name and job namespace. */
  String[] application(SparkContext context) {
    Object factory = Reflection.field(listener(context), "contextFactory");
    Object emitter = factory == null ? null : Reflection.field(factory, "openLineageEventEmitter");
    Object id = emitter == null ? null : Reflection.field(emitter, "applicationRunId");
    String namespace = conf.get("spark.openlineage.namespace", "default");
    String name = snakeCase(conf.get("spark.openlineage.appName", context.appName()));
    if (id == null) {
      return new String[] {made("throughline:" + context.applicationId()), name, namespace};
    }
    Object theirs = Reflection.field(emitter, "applicationJobName");
    boolean isNamed = theirs != null && !theirs.equals(UNKNOWN); // until the listener knows the context
    return new String[] {id.toString(), isNamed ? theirs.toString() : name, String.valueOf(Reflection.field(emitter, "jobNamespace"))};
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
