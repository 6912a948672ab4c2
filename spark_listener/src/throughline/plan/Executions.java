package throughline.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import scala.Option;

/**
 * The running executions, as far as Spark's bus tells. When a listener answers slowly, the bus is late: an execution is
 * over when its start arrives, and nothing but its end has its plan. What depends on that plan waits for that end.
 */
final class Executions {
  /** Ends may be missing: Spark drops events of a full bus. */
  private static final int MAX_RUNNING = 10_000;
  private static final int MAX_WAITING = 100;
  private final Map<Long, Execution> running =
      new LinkedHashMap<Long, Execution>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Execution> eldest) {
          return size() > MAX_RUNNING;
        }
      };

  /** An execution; `plan` is null as long as it is not known, `run` if the OpenLineage listener has none. */
  static final class Execution {
    final long id;
    final long root;
    LogicalPlan plan;
    String run;
    private final List<Runnable> waiting = new ArrayList<>();

    Execution(long id, long root, LogicalPlan plan) {
      this.id = id;
      this.root = root;
      this.plan = plan;
    }

    boolean isRoot() {
      return id == root;
    }

    /** The query of a micro-batch; null for other executions. */
    LogicalPlan batch() {
      return plan == null || !Commands.isBatch(plan) ? null : (LogicalPlan) Reflection.call(plan, "query");
    }
  }

  Execution started(SparkListenerSQLExecutionStart event) {
    long id = event.executionId();
    Object root = Reflection.call(event, "rootExecutionId"); // from Spark 3.4 on
    boolean isNested = root instanceof Option && ((Option<?>) root).isDefined();
    Object query = SQLExecution.getQueryExecution(id);
    LogicalPlan plan = query == null ? null : (LogicalPlan) Reflection.call(query, "analyzed");
    Execution execution = new Execution(id, isNested ? (Long) ((Option<?>) root).get() : id, plan);
    running.put(id, execution);
    return execution;
  }

  /** Removes an execution that has ended. */
  Execution ended(long id, LogicalPlan plan) {
    Execution execution = running.remove(id);
    execution = execution == null ? new Execution(id, id, null) : execution;
    execution.plan = plan;
    return execution;
  }

  /** The execution that encloses all others of this one's thread: itself, or a running one; null if that is unknown. */
  Execution rootOf(Execution execution) {
    return execution.isRoot() ? execution : running.get(execution.root);
  }

  /** Whether a command may run inside of the same root. */
  boolean isInCommand(Execution execution) {
    return running.values().stream()
        .anyMatch(other -> other.root == execution.root && !other.isRoot() && (other.plan == null || Commands.isSent(other.plan)));
  }

  /** Does the work of an end once the root's plan is known, and before it the work that waited for this end. */
  void work(Execution ended, Execution root, Runnable work) {
    if (root != null && root != ended && root.plan == null && root.waiting.size() < MAX_WAITING) {
      root.waiting.add(work);
      return;
    }
    ended.waiting.forEach(Runnable::run);
    work.run();
  }

  /** Does all work that waits for ends which do not come. */
  void close() {
    List<Execution> all = new ArrayList<>(running.values());
    running.clear();
    all.forEach(each -> each.waiting.forEach(Runnable::run));
  }
}
