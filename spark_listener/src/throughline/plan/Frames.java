package throughline.plan;

import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Plans of checkpointed frames and of running micro-batches, by the expression ids of their output; the oldest go. */
final class Frames {
  private static final int MAX_IDS = 4_096;
  private final Map<Object, LogicalPlan> byId = Collections.synchronizedMap(
      new LinkedHashMap<Object, LogicalPlan>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, LogicalPlan> eldest) {
          return size() > MAX_IDS;
        }
      });

  /** Keeps the plan for later writes that read its output. A micro-batch's output is that of its query. */
  void keep(LogicalPlan plan) {
    Object query = Reflection.call(plan, "query");
    LogicalPlan frame = query instanceof LogicalPlan ? (LogicalPlan) query : plan;
    Set<Object> passedOn = new HashSet<>();
    Object leaves = Reflection.call(frame, "collectLeaves");
    for (Object leaf : leaves == null ? Collections.emptyList() : Reflection.list((scala.collection.Iterable<?>) leaves)) {
      if (PlanWriter.kind(leaf).equals("LogicalRDD")) {
        columns((LogicalPlan) leaf).forEach(column -> passedOn.add(((NamedExpression) column).exprId()));
      }
    }
    for (Object column : columns(frame)) {
      Object id = ((NamedExpression) column).exprId();
      if (!passedOn.contains(id)) { // the plan before it shows where such a column is from
        byId.put(id, frame);
      }
    }
  }

  /** The plan that made what this leaf reads; null where it is not known, or is the leaf itself. */
  LogicalPlan of(LogicalPlan leaf) {
    for (Object column : columns(leaf)) {
      LogicalPlan found = byId.get(((NamedExpression) column).exprId());
      if (found != null && found != leaf) {
        return found;
      }
    }
    return null;
  }

  private static Iterable<Object> columns(LogicalPlan plan) {
    Object output = Reflection.call(plan, "output");
    return output instanceof scala.collection.Iterable
        ? Reflection.list((scala.collection.Iterable<?>) output)
        : Collections.emptyList();
  }
}
