package throughline.plan;

import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The plans behind rows without their own plan: of checkpoints, and of the micro-batches of foreachBatch. Frames
 * inherit expression ids (a filtered frame has those of its source). So when two plans have an id, no plan is
 * returned: the write is then not exact, which is better than wrong.
 */
final class Frames {
  private static final int MAX_IDS = 4_096;
  private static final Object UNCLEAR = new Object();
  private final Map<Object, Object> checkpoints = Collections.synchronizedMap(
      new LinkedHashMap<Object, Object>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Object> eldest) {
          return size() > MAX_IDS;
        }
      });
  private final Map<Long, LogicalPlan> batches = new ConcurrentHashMap<>();

  /** Keeps the query of a running micro-batch, by its execution. */
  void began(long execution, LogicalPlan batch) {
    Object query = Reflection.call(batch, "query");
    if (query instanceof LogicalPlan) {
      batches.put(execution, (LogicalPlan) query);
    }
  }

  /** Removes a micro-batch. */
  void ended(long execution) {
    batches.remove(execution);
  }

  /** Keeps the plan of a checkpoint. */
  void checkpointed(LogicalPlan plan) {
    for (Object id : ids(plan)) {
      boolean other = checkpoints.containsKey(id) || batches.values().stream().anyMatch(each -> ids(each).contains(id));
      checkpoints.put(id, other ? UNCLEAR : plan);
    }
  }

  /** The plan that made the rows of this leaf, for a write with this root execution; null if it is ambiguous. */
  LogicalPlan of(LogicalPlan leaf, Long root) {
    Set<Object> wanted = ids(leaf);
    Set<Object> found = new HashSet<>();
    wanted.forEach(id -> found.add(checkpoints.get(id)));
    if (wanted.isEmpty() || found.contains(UNCLEAR)) {
      return null;
    }
    LogicalPlan batch = root == null ? null : batches.get(root);
    if (batch != null && ids(batch).containsAll(wanted)) {
      return batch;
    }
    Object only = found.size() == 1 ? found.iterator().next() : null;
    return only instanceof LogicalPlan ? (LogicalPlan) only : null;
  }

  /** The expression ids of a plan's columns. */
  static Set<Object> ids(LogicalPlan plan) {
    Object output = Reflection.call(plan, "output");
    Set<Object> found = new HashSet<>();
    for (Object column : output instanceof scala.collection.Iterable
        ? Reflection.list((scala.collection.Iterable<?>) output)
        : Collections.emptyList()) {
      found.add(((NamedExpression) column).exprId());
    }
    return found;
  }
}
