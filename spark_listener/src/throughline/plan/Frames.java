package throughline.plan;

import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The plans behind rows without their own plan: of checkpoints, and of the micro-batches of foreachBatch. They are known
 * by the expression ids of all their columns. A filtered frame has those of its source: when two plans have the same
 * ids, no plan is returned. The write is then not exact, which is better than wrong.
 */
final class Frames {
  private static final int MAX_FRAMES = 1_024;
  private static final Object UNCLEAR = new Object();
  /** By ids. Replaced, never changed: a write that is sent later sees the checkpoints of its own time. */
  private Map<Set<Object>, Object> checkpoints = Collections.emptyMap();

  /** Keeps the plan of a checkpoint; `batch` is the query of the micro-batch in which it is made, or null. */
  void checkpointed(LogicalPlan plan, LogicalPlan batch) {
    Map<Set<Object>, Object> known = new LinkedHashMap<>(checkpoints);
    Set<Object> ids = ids(plan);
    boolean isUnclear = known.containsKey(ids) || batch != null && ids(batch).equals(ids);
    known.put(ids, isUnclear ? UNCLEAR : plan);
    if (known.size() > MAX_FRAMES) {
      known.remove(known.keySet().iterator().next());
    }
    checkpoints = known;
  }

  /** From a leaf to the plan that made its rows, for a write now, in a micro-batch with this query or in none (null). */
  UnaryOperator<LogicalPlan> now(LogicalPlan batch) {
    Map<Set<Object>, Object> known = checkpoints;
    return leaf -> {
      Set<Object> ids = ids(leaf);
      Object plan = known.containsKey(ids) ? known.get(ids) : batch != null && ids(batch).equals(ids) ? batch : null;
      return ids.isEmpty() || plan == UNCLEAR ? null : (LogicalPlan) plan;
    };
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
