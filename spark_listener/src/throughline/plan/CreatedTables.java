package throughline.plan;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.connector.catalog.Identifier;

/** Looks up the table that a command has created: its location is known only then. */
final class CreatedTables {
  private final Object session;

  CreatedTables(Object session) {
    this.session = session;
  }

  /** The catalog's current table of CREATE TABLE AS, REPLACE TABLE AS and the like; null for other commands. */
  Object of(Object command) {
    String kind = PlanWriter.kind(command);
    if (!kind.startsWith("Create") && !kind.startsWith("Replace")) {
      return null;
    }
    Object named = Reflection.call(command, "name");
    Object table = Reflection.call(command, "table");
    Object identifier = table == null ? null : Reflection.call(table, "identifier");
    try {
      if (named != null && Reflection.call(named, "identifier") != null) {
        Object catalog = Reflection.call(named, "catalog");
        Object name = Reflection.call(named, "identifier");
        return catalog.getClass().getMethod("loadTable", Identifier.class).invoke(catalog, name);
      }
      if (identifier instanceof TableIdentifier) {
        Object catalog = Reflection.call(Reflection.call(session, "sessionState"), "catalog");
        return catalog.getClass().getMethod("getTableMetadata", TableIdentifier.class).invoke(catalog, identifier);
      }
    } catch (ReflectiveOperationException | RuntimeException | LinkageError gone) {
      return null; // dropped since, or in a catalog without such a method: the record has its name
    }
    return null;
  }
}
