package throughline.plan;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Names that Spark derives from values: `SELECT 'x'` has a column `x`, a pivot one for each value. A column that is
 * written to or read from a table keeps its name, which is the table's; other names that show a value are hidden.
 */
final class AutoNames {
  private static final int MAX_TEXTS = 10_000;
  private static final Pattern PLAIN = Pattern.compile("\\w+");
  private static final Set<String> NO_TABLES = new HashSet<>(Arrays.asList("CTERelationRef", "UnionLoopRef", "LogicalRDD", "LocalRelation"));
  private final Set<String> texts = new HashSet<>();
  private final Set<String> aliases = new HashSet<>();
  private final Set<Object> kept = new HashSet<>();
  private final Set<String> hidden = new HashSet<>();

  /** Adds a node of the plan. */
  void met(Object node) {
    if (node instanceof Literal) {
      Object value = ((Literal) node).value();
      add(value == null ? "" : value.toString());
    } else if (node instanceof Alias) {
      aliases.add(((Alias) node).name());
    } else if (node instanceof LogicalPlan) {
      String kind = PlanWriter.kind(node);
      Object children = Reflection.call(node, "children");
      if (children instanceof scala.collection.Iterable && ((scala.collection.Iterable<?>) children).isEmpty() && !NO_TABLES.contains(kind)) {
        keep((LogicalPlan) node);
      }
    } else if (PlanWriter.kind(node).equals("PivotFirst")) {
      Object values = Reflection.call(node, "pivotColumnValues");
      if (values instanceof scala.collection.Iterable) {
        Reflection.list((scala.collection.Iterable<?>) values).forEach(value -> add(String.valueOf(value)));
      }
    }
  }

  private void add(String text) {
    if (!text.isEmpty() && texts.size() < MAX_TEXTS) {
      texts.add(text);
    }
  }

  /** Keeps the names of a plan's columns, which are those of a table. */
  void keep(LogicalPlan plan) {
    kept.addAll(Frames.ids(plan));
  }

  /** Whether there are names to hide. */
  boolean found() {
    for (String name : aliases) {
      boolean made = !PLAIN.matcher(name).matches(); // `(c = x)`; a plain name hides only equal names
      if (texts.contains(name) || made && texts.stream().anyMatch(name::contains)) {
        hidden.add(name);
      }
    }
    return !hidden.isEmpty();
  }

  /** Whether this is such a name, of a column that is in no table. */
  boolean hides(Object node, Object name) {
    return node instanceof NamedExpression && hidden.contains(name) && !kept.contains(((NamedExpression) node).exprId());
  }
}
