package throughline.plan;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.connector.catalog.Identifier;
import scala.Option;

/** Looks up the table that a command has created: its location is known only then. */
final class CreatedTables {
  private static final String SESSION_CATALOG = "spark_catalog";
  private final Object session;

  CreatedTables(Object session) {
    this.session = session;
  }

  /**
   * The table of CREATE TABLE AS, REPLACE TABLE AS and the like; null for other commands. When it is asked for, the
   * table may be dropped, and the session stopping: then it is the location that the table had (a text), or null.
   */
  Object of(Object command) {
    String kind = PlanWriter.kind(command);
    if (!kind.startsWith("Create") && !kind.startsWith("Replace")) {
      return null;
    }
    Object resolved = Reflection.call(command, "name");
    Object name = Reflection.call(resolved, "identifier");
    if (name instanceof Identifier) {
      Object location = Reflection.call(Reflection.call(command, "tableSpec"), "location");
      return ofCatalog(Reflection.call(resolved, "catalog"), (Identifier) name, location);
    }
    Object table = Reflection.call(command, "table");
    Object identifier = Reflection.call(table, "identifier");
    return identifier instanceof TableIdentifier
        ? ofSession((TableIdentifier) identifier, Reflection.call(Reflection.call(table, "storage"), "locationUri"))
        : null;
  }

  /** Delta's catalog finds no table once the session stops, but Spark's own does, which has Delta's tables too. */
  private Object ofCatalog(Object catalog, Identifier name, Object location) {
    boolean isPath = name.namespace().length == 1 && new Path(name.name()).isAbsolute(); // as delta.`/path`
    boolean isOfSession = SESSION_CATALOG.equals(Reflection.text(catalog, "name")) && name.namespace().length <= 1 && !isPath;
    Option<String> database = Option.apply(name.namespace().length == 1 ? name.namespace()[0] : null);
    Object found = isOfSession ? metadata(new TableIdentifier(name.name(), database)) : null;
    if (found == null) {
      found = Reflection.call(catalog, "loadTable", Identifier.class, name);
    }
    if (found == null) {
      found = isOfSession ? ofSession(new TableIdentifier(name.name(), database), location) : isPath ? name.name() : null;
    }
    return found;
  }

  private Object ofSession(TableIdentifier name, Object location) {
    Object found = metadata(name);
    if (found == null && location instanceof Option && ((Option<?>) location).isDefined()) {
      return ((Option<?>) location).get().toString();
    }
    Object usual = found == null ? Reflection.call(catalog(), "defaultTablePath", TableIdentifier.class, name) : null;
    return usual == null ? found : usual.toString();
  }

  private Object metadata(TableIdentifier name) {
    return Reflection.call(catalog(), "getTableMetadata", TableIdentifier.class, name);
  }

  private Object catalog() {
    return Reflection.call(Reflection.call(session, "sessionState"), "catalog");
  }
}
