package throughline.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Columns that a Delta table computes of others in each row, unless a write gives them: no plan has their expressions. */
final class GeneratedColumns {
  private static final String EXPRESSION = "delta.generationExpression";
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private final Object session;

  GeneratedColumns(Object session) {
    this.session = session;
  }

  /** A plan that computes those columns of the rows that a command writes; null without any, true if it is not known. */
  Object of(Object command) {
    Object query = Reflection.call(command, "query");
    if (!(query instanceof LogicalPlan)) {
      return null;
    }
    try {
      Object schema = schema(command);
      return schema instanceof StructType ? plan((LogicalPlan) query, (StructType) schema) : null;
    } catch (ReflectiveOperationException | RuntimeException | LinkageError unlike) {
      return true;
    }
  }

  private Object plan(LogicalPlan query, StructType schema) throws ReflectiveOperationException {
    Set<String> given = new HashSet<>();
    for (Object column : Reflection.list((scala.collection.Iterable<?>) Reflection.call(query, "output"))) {
      given.add(((NamedExpression) column).name().toLowerCase());
    }
    List<String> generated = new ArrayList<>();
    List<String> all = new ArrayList<>(Arrays.asList("*"));
    for (StructField field : schema.fields()) {
      boolean isGenerated = field.metadata().contains(EXPRESSION);
      String expression = isGenerated ? field.metadata().getString(EXPRESSION) : "CAST(NULL AS " + field.dataType().sql() + ")";
      if (!given.contains(field.name().toLowerCase())) {
        (isGenerated ? generated : all).add(expression + " AS `" + field.name().replace("`", "``") + "`");
      }
    }
    if (generated.isEmpty()) {
      return null;
    }
    Object frame = selected(selected(rows(query), all), generated);
    return Reflection.call(Reflection.call(frame, "queryExecution"), "analyzed");
  }

  private static Object selected(Object frame, List<String> columns) throws ReflectiveOperationException {
    return frame.getClass().getMethod("selectExpr", String[].class).invoke(frame, (Object) columns.toArray(new String[0]));
  }

  private Object rows(LogicalPlan query) throws ReflectiveOperationException {
    String of = session.getClass().getName().replace("SparkSession", "Dataset$"); // beside it, in Spark 3 and 4
    Class<?> type = Class.forName(of, true, session.getClass().getClassLoader());
    return type.getMethod("ofRows", session.getClass(), LogicalPlan.class).invoke(type.getField("MODULE$").get(null), session, query);
  }

  /** The schema of the Delta table that a command writes, by path or by table; null for other commands. */
  private Object schema(Object command) throws ReflectiveOperationException {
    Object table = Reflection.call(Reflection.call(command, "table"), "table");
    Object source = Reflection.call(command, "dataSource");
    Object sink = Reflection.call(command, "sink");
    Object log = Reflection.call(table == null ? command : table, "deltaLog");
    if (isDelta(source)) {
      Object options = Reflection.call(command, "options");
      Map<Object, Object> values = Reflection.map((scala.collection.Map<?, ?>) options);
      log = log(source, new Path((String) values.get("path")));
    } else if (isDelta(sink)) {
      log = log(sink, (Path) Reflection.call(sink, "path"));
    }
    return Reflection.call(Reflection.call(log, "unsafeVolatileSnapshot"), "schema");
  }

  private static boolean isDelta(Object value) {
    return value != null && value.getClass().getName().startsWith(DELTA);
  }

  private Object log(Object ofDelta, Path path) throws ReflectiveOperationException {
    Class<?> type = Class.forName(DELTA + "DeltaLog$", true, ofDelta.getClass().getClassLoader());
    Class<?> sessions = Class.forName("org.apache.spark.sql.SparkSession", true, ofDelta.getClass().getClassLoader());
    return type.getMethod("forTable", sessions, Path.class).invoke(type.getField("MODULE$").get(null), session, path);
  }
}
