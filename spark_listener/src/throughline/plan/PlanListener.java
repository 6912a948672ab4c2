package throughline.plan;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
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
  private static final Set<String> CHECKPOINTS = new HashSet<>(Arrays.asList("checkpoint", "localCheckpoint"));

  private final int maxBytes;
  private final long maxNanos;
  private final long flushNanos;
  private final OpenLineageRuns runs;
  private final Executions executions = new Executions();
  private final Frames frames = new Frames();
  /** Null if no plans are sent. */
  private final Sender sender;
  /** The application's context. SparkContext.getOrCreate() would start a new one for plans left after its end. */
  private SparkContext context;
  private boolean warned;

  /** Spark calls it with its configuration. */
  public PlanListener(SparkConf conf) {
    maxBytes = conf.getInt("spark.throughline.plan.maxBytes", 20 << 20);
    maxNanos = TimeUnit.MILLISECONDS.toNanos(conf.getInt("spark.throughline.plan.maxMillis", 5_000));
    flushNanos = TimeUnit.MILLISECONDS.toNanos(Math.min(conf.getInt("spark.throughline.plan.flushMillis", 10_000), 10_000));
    runs = new OpenLineageRuns(conf, this);
    sender = conf.getBoolean("spark.throughline.plan.enabled", true) ? new Sender(conf) : null;
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
      if (!warned) {
        warned = true;
        LOG.warn("a plan was not read, and further problems are not logged: {}", problem.getClass().getName());
      }
    }
  }

  @Override
  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    close();
  }

  /** Whether plans are sent: it is enabled, the application has not ended, and `close` was not called. */
  public boolean isOn() {
    return sender != null && !sender.isClosed();
  }

  /** Waits for a limited time until all plans are sent. */
  public void close() {
    if (!isOn()) {
      return;
    }
    executions.close();
    sender.close(flushNanos, missing -> PlanEvent.lost(context, runs).json(null, null, missing));
  }

  private void started(SparkListenerSQLExecutionStart event) {
    Executions.Execution execution = executions.started(event);
    if (context == null) {
      Option<SparkContext> active = SparkContext$.MODULE$.getActive();
      context = active.isDefined() ? active.get() : null;
    }
    if (context != null) {
      execution.run = runs.run(context, execution, null);
      runs.lead(context);
    }
  }

  private void ended(SparkListenerSQLExecutionEnd event) {
    Object query = Reflection.call(event, "qe");
    LogicalPlan plan = query == null ? null : (LogicalPlan) Reflection.call(query, "analyzed");
    Executions.Execution execution = executions.ended(event.executionId(), plan);
    if (plan == null) {
      return;
    }
    Object session = Reflection.call(query, "sparkSession");
    context = (SparkContext) Reflection.call(session, "sparkContext");
    String run = runs.run(context, execution, event);
    execution.run = run == null ? execution.run : run;
    boolean isCheckpoint = CHECKPOINTS.contains(defined(event, "executionName"));
    boolean isInCommand = executions.isInCommand(execution);
    Object cause = defined(event, "executionFailure");
    PlanEvent head = Commands.isSent(plan)
        ? PlanEvent.ended(execution, event.time(), cause == null ? null : cause.getClass().getName(), context, runs)
        : null;
    Executions.Execution root = executions.rootOf(execution);
    executions.work(execution, root, () -> {
      LogicalPlan batch = root == null ? null : root.batch();
      boolean isOfCommand = isInCommand || root != null && !execution.isRoot() && batch == null && Commands.isSent(root.plan);
      if (isCheckpoint && !isOfCommand) { // else a command's own, as of Delta's MERGE
        frames.checkpointed(plan, batch);
      }
      if (head != null) {
        UnaryOperator<LogicalPlan> known = frames.now(batch);
        sender.offer(() -> json(head, plan, session, known));
      }
    });
  }

  private static Object defined(Object event, String name) {
    Object value = Reflection.call(event, name);
    return value instanceof Option && ((Option<?>) value).isDefined() ? ((Option<?>) value).get() : null;
  }

  private String json(PlanEvent head, LogicalPlan plan, Object session, UnaryOperator<LogicalPlan> known) {
    String document = null;
    String problem = null;
    try {
      document = new PlanWriter(maxBytes, System.nanoTime() + maxNanos, session, context.hadoopConfiguration()).write(plan, known);
    } catch (PlanWriter.TooMuch bound) {
      problem = bound.getMessage();
    } catch (StackOverflowError deep) {
      problem = "too deep";
    } catch (Throwable other) {
      problem = other.getClass().getName();
    }
    return head.json(document, problem, sender.lost());
  }
}
