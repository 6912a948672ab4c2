package throughline.plan;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** The locations of data in Spark, Delta, Iceberg and JDBC: objects outside of the tree of a plan. */
final class Places {
  private static final Set<String> KINDS = new HashSet<>(Arrays.asList(
      "org.apache.spark.sql.sources.BaseRelation",
      "org.apache.spark.sql.connector.catalog.Table",
      "org.apache.spark.sql.connector.catalog.CatalogPlugin",
      "org.apache.spark.sql.connector.catalog.Identifier",
      "org.apache.spark.sql.execution.datasources.FileIndex",
      "org.apache.spark.sql.execution.datasources.FileFormat",
      "org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions",
      "org.apache.spark.sql.execution.streaming.Sink",
      "org.apache.spark.sql.execution.streaming.Source",
      "org.apache.spark.sql.connector.read.streaming.SparkDataStream",
      "org.apache.spark.sql.connector.write.Write",
      "org.apache.spark.sql.sources.DataSourceRegister",
      "org.apache.spark.sql.connector.read.Scan",
      "org.apache.spark.sql.delta.DeltaLog",
      "org.apache.spark.sql.delta.commands.CloneSource",
      "org.apache.iceberg.Table"));
  /** Method or field, and its name in the record. */
  private static final String[][] FACTS = {
    {"rootPaths", "paths"}, {"path", "path"}, {"dataPath", "path"}, {"location", "location"}, {"name", "name"},
    {"namespace", "namespace"}, {"tableIdentifier", "identifier"}, {"catalogTable", "table"}, {"v1Table", "table"},
    {"table", "inner"}, {"jdbcOptions", "jdbc"}, {"url", "url"}, {"tableOrQuery", "tableOrQuery"}, {"deltaLog", "log"},
    {"branch", "branch"}, {"options", "options"}, {"sourceOptions", "options"}, {"fileFormat", "format"}, {"topic", "topic"}
  };
  private static final Map<Class<?>, Boolean> KNOWN = new ConcurrentHashMap<>();

  private Places() {}

  /** A path with the scheme of the file system that Spark uses for it; other options unchanged. */
  static String qualified(Configuration hadoop, String option, String value) {
    boolean bare = option.equals("location") && value.startsWith("/"); // Iceberg keeps it unchanged
    if (!option.equals("path") && !option.equals("basepath") && !bare) {
      return value;
    }
    try {
      Path path = new Path(value);
      FileSystem files = path.getFileSystem(hadoop);
      return path.makeQualified(files.getUri(), files.getWorkingDirectory()).toString();
    } catch (IOException | RuntimeException unknown) {
      return value;
    }
  }

  static boolean isPath(Object value) {
    return value.getClass().getName().equals("org.apache.hadoop.fs.Path");
  }

  static boolean isPlace(Object value) {
    return KNOWN.computeIfAbsent(value.getClass(), Places::known);
  }

  private static boolean known(Class<?> type) {
    if (type == null) {
      return false;
    }
    if (KINDS.contains(type.getName()) || known(type.getSuperclass())) {
      return true;
    }
    for (Class<?> each : type.getInterfaces()) {
      if (known(each)) {
        return true;
      }
    }
    return false;
  }

  static Map<String, Object> facts(Object place) {
    Map<String, Object> found = new LinkedHashMap<>();
    for (String[] fact : FACTS) {
      Object value = Reflection.call(place, fact[0]);
      value = value == null ? Reflection.field(place, fact[0]) : value; // private in sinks, Kafka, a change feed of Delta 3.3
      if (value != null && value != place) {
        found.putIfAbsent(fact[1], value);
      }
    }
    if (PlanWriter.kind(place).startsWith("Clone")) { // no plan has its columns
      Object schema = Reflection.call(place, "schema");
      found.put("columnNames", schema == null ? null : Reflection.call(schema, "fieldNames"));
    }
    return found;
  }
}
