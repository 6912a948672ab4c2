package throughline.plan;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Sends the analyzed plan of each write as an OpenLineage event. `spark.extraListeners` names it beside the OpenLineage
 * listener. It never fails a job: Spark's thread only puts plans into a bounded queue, and all errors end here.
 */
public final class PlanListener extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger(PlanListener.class);
  private static final String SCHEMA = "https://throughline.dev/spec/facets/1-0-0/ThroughlinePlanRunFacet.json";
  private static final String PRODUCER = "https://throughline.dev/spark-listener/0.1.0";
  private static final long STACK = 256L << 20;
  /** Beginnings of commands that write no data. */
  private static final String[] IDLE = {
    "Show", "Describe", "Desc", "Set", "Reset", "Explain", "Cache", "Uncache", "Clear", "Add", "List", "Analyze", "Refresh", "Use"
  };
  private static final Set<String> CHECKPOINTS = new HashSet<>(Arrays.asList("checkpoint", "localCheckpoint"));

  private final boolean enabled;
  private final int maxBytes;
  private final long maxNanos;
  private final long flushNanos;
  private final OpenLineageRuns runs;
  private final Transport transport;
  private final Frames frames = new Frames();
  private final Map<Long, String> joined = new ConcurrentHashMap<>();
  private final Map<Long, Long> roots = new ConcurrentHashMap<>();
  /** Running commands with their root executions. */
  private final Map<Long, Long> commands = new ConcurrentHashMap<>();
  private final BlockingQueue<Runnable> queue;
  private final AtomicInteger waiting = new AtomicInteger();
  /** The application's context. SparkContext.getOrCreate() would start a new one for plans left after its end. */
  private SparkContext context;
  private volatile boolean warned;
  private volatile boolean closed;

  /** Spark calls it with its configuration. */
  public PlanListener(SparkConf conf) {
    enabled = conf.getBoolean("spark.throughline.plan.enabled", true);
    maxBytes = conf.getInt("spark.throughline.plan.maxBytes", 20 << 20);
    maxNanos = TimeUnit.MILLISECONDS.toNanos(conf.getInt("spark.throughline.plan.maxMillis", 5_000));
    flushNanos = TimeUnit.MILLISECONDS.toNanos(Math.min(conf.getInt("spark.throughline.plan.flushMillis", 3_000), 3_000));
    queue = new ArrayBlockingQueue<>(conf.getInt("spark.throughline.plan.queue", 256));
    runs = new OpenLineageRuns(conf);
    transport = new Transport(conf);
    if (enabled) {
      Thread sender = new Thread(null, this::work, "throughline-plan", STACK);
      sender.setDaemon(true);
      sender.start();
    }
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (!isOn()) {
      return;
    }
    try {
      if (event instanceof SparkListenerSQLExecutionStart) {
        started((SparkListenerSQLExecutionStart) event);
      } else if (event instanceof SparkListenerSQLExecutionEnd) {
        ended((SparkListenerSQLExecutionEnd) event);
      }
    } catch (Throwable problem) {
      warn(problem);
    }
  }

  @Override
  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    close();
  }

  /** Whether plans are sent: it is enabled, the application has not ended, and `close` was not called. */
  public boolean isOn() {
    return enabled && !closed;
  }

  /** Waits for a limited time until the queue is sent; the thread ends after the last plan. */
  public void close() {
    long until = System.nanoTime() + flushNanos;
    try {
      while (waiting.get() > 0 && System.nanoTime() < until) {
        Thread.sleep(5);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
    closed = true;
    queue.offer(() -> {}); // wakes the thread; with a full queue it is awake
  }

  private void started(SparkListenerSQLExecutionStart event) {
    long id = event.executionId();
    Object execution = SQLExecution.getQueryExecution(id);
    note(execution, id);
    Object root = Reflection.call(event, "rootExecutionId");
    if (root instanceof Option && ((Option<?>) root).isDefined() && !((Option<?>) root).get().equals(id)) {
      roots.put(id, (Long) ((Option<?>) root).get());
    }
    LogicalPlan plan = execution == null ? null : (LogicalPlan) Reflection.call(execution, "analyzed");
    if (plan != null && sent(plan)) {
      if (PlanWriter.kind(plan).startsWith("WriteTo")) {
        frames.began(id, plan);
      } else {
        commands.put(id, roots.getOrDefault(id, id));
      }
      Head head = new Head(id, joined.get(id), event.time(), plan, null);
      if (head.joined || !runs.isThere(context)) { // a START whose id differs from the end's would stay open
        offer(() -> send("START", head, null, null));
      }
    }
  }

  private void note(Object execution, long id) {
    if (context == null && execution != null) {
      context = (SparkContext) Reflection.call(Reflection.call(execution, "sparkSession"), "sparkContext");
    }
    String run = context == null ? null : runs.run(context, id);
    if (run != null) {
      joined.put(id, run);
    }
  }

  private void ended(SparkListenerSQLExecutionEnd event) {
    long id = event.executionId();
    Object execution = Reflection.call(event, "qe");
    note(execution, id);
    LogicalPlan plan = execution == null ? null : (LogicalPlan) Reflection.call(execution, "analyzed");
    commands.remove(id);
    if (plan == null) {
      forget(id);
      return;
    }
    Object name = Reflection.call(event, "executionName");
    boolean checkpoint = name instanceof Option && ((Option<?>) name).isDefined() && CHECKPOINTS.contains(((Option<?>) name).get());
    if (checkpoint && !commands.containsValue(roots.getOrDefault(id, id))) { // else a command's own, as of Delta's MERGE
      frames.checkpointed(plan);
    }
    if (!sent(plan)) {
      forget(id);
      return;
    }
    Object failure = Reflection.call(event, "executionFailure");
    Object cause = failure instanceof Option && ((Option<?>) failure).isDefined() ? ((Option<?>) failure).get() : null;
    String failed = cause == null ? null : cause.getClass().getName();
    Head head = new Head(id, joined.get(id), event.time(), plan, failed);
    Object session = Reflection.call(execution, "sparkSession");
    Long root = roots.get(id);
    boolean taken = offer(() -> {
      sendPlan(head, plan, session, root);
      forget(id);
    });
    if (!taken) {
      forget(id);
    }
  }

  private void forget(long execution) {
    joined.remove(execution);
    roots.remove(execution);
    frames.ended(execution);
  }

  /** Whether a plan is sent: it is a command, or a micro-batch of a stream, and may write data. */
  private static boolean sent(LogicalPlan plan) {
    String kind = PlanWriter.kind(plan);
    if (kind.startsWith("WriteTo")) {
      return true;
    }
    for (String idle : IDLE) {
      if (kind.startsWith(idle)) {
        return false;
      }
    }
    if (plan instanceof Command) {
      return true;
    }
    Object children = kind.equals("Union") || kind.equals("WithCTE") ? Reflection.call(plan, "children") : null;
    for (Object child : children == null ? new Object[0] : Reflection.list((scala.collection.Iterable<?>) children).toArray()) {
      if (sent((LogicalPlan) child)) {
        return true;
      }
    }
    return false;
  }

  private void sendPlan(Head head, LogicalPlan plan, Object session, Long root) {
    String document = null;
    String problem = null;
    try {
      document = packed(writer(session).write(plan, leaf -> frames.of(leaf, root)));
    } catch (PlanWriter.TooMuch bound) {
      problem = bound.getMessage();
    } catch (StackOverflowError deep) {
      problem = "too deep";
    } catch (Throwable other) {
      problem = other.getClass().getName();
    }
    send(head.failed == null ? "COMPLETE" : "FAIL", head, document, problem);
  }

  private PlanWriter writer(Object session) {
    return new PlanWriter(maxBytes, System.nanoTime() + maxNanos, new CreatedTables(session), context.hadoopConfiguration());
  }

  private static String packed(String document) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(document.length() / 8 + 64);
    try (OutputStream zip = new GZIPOutputStream(bytes)) {
      zip.write(document.getBytes(StandardCharsets.UTF_8));
    }
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }

  private void send(String type, Head head, String document, String problem) {
    StringBuilder facet = new StringBuilder("{\"_producer\":\"" + PRODUCER + "\",\"_schemaURL\":\"" + SCHEMA + "\",\"format\":1");
    add(facet, "spark", head.spark);
    add(facet, "application", head.applicationId);
    facet.append(",\"execution\":").append(head.execution).append(",\"joined\":").append(head.joined);
    Long root = roots.get(head.execution);
    add(facet, "root", root == null ? null : root.toString());
    add(facet, "failed", head.failed);
    add(facet, "problem", problem);
    add(facet, "plan", document);
    String parent = "{\"_producer\":\"" + PRODUCER
        + "\",\"_schemaURL\":\"https://openlineage.io/spec/facets/1-0-1/ParentRunFacet.json#/$defs/ParentRunFacet\",\"run\":{\"runId\":"
        + Json.quoted(head.application[0]) + "},\"job\":{\"namespace\":" + Json.quoted(head.application[2]) + ",\"name\":"
        + Json.quoted(head.application[1]) + "}}";
    String jobType = "{\"_producer\":\"" + PRODUCER
        + "\",\"_schemaURL\":\"https://openlineage.io/spec/facets/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet\","
        + "\"processingType\":\"" + (head.streaming ? "STREAMING" : "BATCH")
        + "\",\"integration\":\"SPARK\",\"jobType\":\"SQL_JOB\"}";
    String event = "{\"eventTime\":\"" + Instant.ofEpochMilli(head.time) + "\",\"eventType\":\"" + type + "\",\"producer\":\"" + PRODUCER
        + "\",\"schemaURL\":\"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent\",\"run\":{\"runId\":"
        + Json.quoted(head.run) + ",\"facets\":{\"parent\":" + parent + ",\"throughline_plan\":" + facet
        + "}}},\"job\":{\"namespace\":" + Json.quoted(head.application[2]) + ",\"name\":"
        + Json.quoted(head.application[1] + "." + head.operation) + ",\"facets\":{\"jobType\":" + jobType
        + "}},\"inputs\":[],\"outputs\":[]}";
    try {
      transport.send(event);
    } catch (Throwable problemOfSending) {
      warn(problemOfSending);
    }
  }

  private static void add(StringBuilder facet, String name, String value) {
    if (value != null) {
      facet.append(",\"").append(name).append("\":").append(Json.quoted(value));
    }
  }

  private boolean offer(Runnable work) {
    waiting.incrementAndGet();
    boolean taken = queue.offer(work);
    if (!taken) {
      waiting.decrementAndGet();
      warn(new IllegalStateException("the queue of plans is full: the receiver is slow or away"));
    }
    return taken;
  }

  private void work() {
    while (!closed || !queue.isEmpty()) {
      try {
        Runnable next = queue.take();
        try {
          next.run();
        } finally {
          waiting.decrementAndGet(); // below zero after the entry that wakes the thread at its end
        }
      } catch (Throwable problem) {
        warn(problem);
      }
    }
  }

  /** Logs only the first problem, so that the job's log stays readable. */
  private void warn(Throwable problem) {
    if (!warned) {
      warned = true;
      String why = problem instanceof Transport.Refused ? ": " + problem.getMessage() : "";
      LOG.warn("a plan was not sent to Throughline, and further problems are not logged: {}{}", problem.getClass().getName(), why);
    }
  }

  /** The fields of an event besides the plan, read while the execution's context exists. */
  private final class Head {
    final long execution;
    final long time;
    final String run;
    final boolean joined;
    final boolean streaming;
    final String[] application;
    final String applicationId;
    final String spark;
    final String operation;
    final String failed;

    Head(long execution, String run, long time, LogicalPlan plan, String failed) {
      this.execution = execution;
      this.time = time;
      this.failed = failed;
      applicationId = context.applicationId();
      application = runs.application(context);
      joined = run != null;
      this.run = joined ? run : OpenLineageRuns.made("throughline:" + applicationId + ":" + execution);
      spark = context.version();
      String kind = PlanWriter.kind(plan);
      streaming = kind.startsWith("WriteTo");
      operation = OpenLineageRuns.snakeCase((streaming ? "" : plan instanceof Command && kind.endsWith("Command") ? "execute_" : "") + kind);
    }
  }
}
