package throughline.plan;

import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Which plans are sent. */
final class Commands {
  /** Beginnings of commands that write no data. */
  private static final String[] IDLE = {
    "Show", "Describe", "Desc", "Set", "Reset", "Explain", "Cache", "Uncache", "Clear", "Add", "List", "Analyze", "Refresh", "Use"
  };

  private Commands() {}

  /** Whether it is a command, or a micro-batch of a stream, that may write data. */
  static boolean isSent(LogicalPlan plan) {
    if (isBatch(plan)) {
      return true;
    }
    String kind = PlanWriter.kind(plan);
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
      if (isSent((LogicalPlan) child)) {
        return true;
      }
    }
    return false;
  }

  /** Whether it is a micro-batch of a stream. */
  static boolean isBatch(LogicalPlan plan) {
    return PlanWriter.kind(plan).startsWith("WriteTo");
  }

  /** The operation as the listener names it in a job's name. */
  static String operation(LogicalPlan plan) {
    String kind = PlanWriter.kind(plan);
    return OpenLineageRuns.snakeCase((!isBatch(plan) && plan instanceof Command && kind.endsWith("Command") ? "execute_" : "") + kind);
  }
}
