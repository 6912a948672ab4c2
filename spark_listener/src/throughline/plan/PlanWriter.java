package throughline.plan;

import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.Product;

/**
 * Writes one analyzed plan as JSON: each node with its class and its fields. Values of literals are never written;
 * strings, numbers and options only if a list has their field or key.
 */
final class PlanWriter {
  private static final Set<String> LEFT_OUT = set(
      "nullable metadata dataType qualifier timeZoneId outputColumnNames stats session sparkSession spark encoder "
          + "inputEncoders outputEncoder schema partitionSchema dataSchema argumentSchema viewText viewOriginalText data rows "
          + "colStats resultId funcDeterministic udfDeterministic deterministic validConstraints tableStats pivotColumnValues "
          + "hset comment origin evalMode ansiEnabled failOnError rdd func baseRelation prunedPartitions hint hints "
          + "createTime lastAccessTime owner viewCatalogAndNamespace unsupportedFeatures ignoredProperties inputFormat "
          + "outputFormat serde properties tracksPartitionsInCatalog schemaPreservesCase createVersion replaceParams "
          + "fieldIndex collation analyzedQuery metrics canonicalized outputPartitioning outputOrdering writeOptions funCatalog mutableAggBufferOffset inputAggBufferOffset bucketSpec parts");
  private static final Set<String> TEXTS = set(
      "name udfName database table catalog identifier identifiers nameParts namespace functionName catalogName provider "
          + "queryName alias aliasName colName colNames columnNames usingColumns locationUri location path paths uri url "
          + "multipartIdentifier targetColNameParts outputPath rootPaths tableOrQuery dbtable dataPath topic format tables db tableName newName "
          + "oldName viewName originalName pathToCopy shortName branch prettyName key normalizedName");
  private static final Set<String> NUMBERS = set("cteId id ordinal leftGroupingLen rightGroupingLen evalType batchId loopId version currentBatchId");
  private static final Set<String> OPTIONS = set(
      "path url dbtable query table subscribe subscribepattern assign topic kafka.bootstrap.servers basepath branch "
          + "versionasof timestampasof readchangefeed");
  /** Fields with options; other maps, such as partitions, contain values of data. */
  private static final Set<String> MAPS = set("options extraOptions parameters");
  private static final int MAX_TEXT = 2_000;
  private static final int MAX_TYPE = 200;
  private static final int MAX_DEPTH = 20_000;
  private static final Map<Class<?>, String[]> NAMES = new ConcurrentHashMap<>();
  private static final Map<Class<?>, String> KINDS = new ConcurrentHashMap<>();

  private final StringBuilder out = new StringBuilder(1 << 14);
  private final IdentityHashMap<Object, Integer> plans = new IdentityHashMap<>();
  private final List<UUID> jvms = new ArrayList<>();
  private final List<LogicalPlan> order = new ArrayList<>();
  private final List<LogicalPlan> read = new ArrayList<>();
  private final int maxBytes;
  private final long deadline;
  private final Object session;
  private final Configuration hadoop;
  private final AutoNames auto = new AutoNames();
  private Object root;
  private String database = "";
  private int depth;

  PlanWriter(int maxBytes, long deadline, Object session, Configuration hadoop) {
    this.maxBytes = maxBytes;
    this.deadline = deadline;
    this.session = session;
    this.hadoop = hadoop;
  }

  /** A plan exceeds the bounds; the message is one of a few fixed texts. */
  static final class TooMuch extends RuntimeException {
    TooMuch(String what) {
      super(what, null, false, false);
    }
  }

  /** The document: the plan, and the plans of earlier executions to which it refers. Throws TooMuch. */
  String write(LogicalPlan root, UnaryOperator<LogicalPlan> frames) {
    String document = once(root, frames);
    if (!auto.found()) {
      return document;
    }
    out.setLength(0); // only now all names with values are known
    plans.clear();
    jvms.clear();
    order.clear();
    read.clear();
    return once(root, frames);
  }

  private String once(LogicalPlan root, UnaryOperator<LogicalPlan> frames) {
    this.root = root;
    out.append("{\"root\":");
    value("root", root);
    out.append(",\"plans\":[");
    List<Object[]> found = new ArrayList<>();
    Set<Integer> kept = new HashSet<>();
    int leaves = 0;
    for (int at = 0; at < order.size(); at++) {
      out.append(at > 0 ? "," : "");
      node(order.get(at));
      for (; at == order.size() - 1 && leaves < read.size(); leaves++) {
        LogicalPlan frame = frames.apply(read.get(leaves));
        if (frame != null && kept.add(System.identityHashCode(frame))) {
          found.add(new Object[] {Reflection.call(frame, "output"), frame});
          number(frame);
        }
      }
    }
    out.append("],\"frames\":[");
    String comma = "";
    for (Object[] frame : found) {
      out.append(comma).append("{\"output\":");
      value("output", frame[0]);
      out.append(",\"plan\":");
      value("plan", frame[1]);
      out.append('}');
      comma = ",";
    }
    out.append("],\"jvm\":");
    comma = "[";
    for (UUID jvm : jvms) {
      out.append(comma).append('"').append(jvm).append('"');
      comma = ",";
    }
    return out.append(jvms.isEmpty() ? "[]}" : "]}").toString();
  }

  /** The position of a plan in the list: plans are written side by side, so no document is as deep as its plan. */
  private int number(LogicalPlan plan) {
    Integer known = plans.get(plan);
    if (known == null) {
      known = order.size();
      plans.put(plan, known);
      order.add(plan);
    }
    return known;
  }

  /** Writes a value, or writes nothing and returns false: then the caller removes the key. */
  private boolean value(String field, Object value) {
    if (out.length() > maxBytes) {
      throw new TooMuch("too large");
    }
    if (System.nanoTime() > deadline) {
      throw new TooMuch("too slow");
    }
    if (++depth > MAX_DEPTH) {
      throw new TooMuch("too deep");
    }
    try {
      return written(field, value);
    } finally {
      depth--;
    }
  }

  private boolean written(String field, Object value) {
    if (value == null || value instanceof DataType || value instanceof Enum) {
      return false;
    } else if (value instanceof Option) {
      return ((Option<?>) value).isDefined() && value(field, ((Option<?>) value).get());
    } else if (value instanceof LogicalPlan) {
      return raw("{\"ref\":" + number((LogicalPlan) value) + "}");
    } else if (value instanceof TreeNode) {
      return node(value);
    } else if (value instanceof ExprId) {
      return id((ExprId) value);
    } else if (value instanceof Boolean) {
      return (Boolean) value && raw("true");
    } else if (value instanceof Number) {
      return NUMBERS.contains(field) && raw(value.toString());
    } else if (value instanceof CharSequence || value instanceof URI || value instanceof UUID || Places.isPath(value)) {
      return TEXTS.contains(field) && text(Redaction.text(field, Places.qualified(hadoop, field, value.toString()), database));
    } else if (value instanceof scala.collection.Map) {
      Map<Object, Object> entries = Reflection.map((scala.collection.Map<?, ?>) value);
      return MAPS.contains(field) ? map(entries) : expressions(field, entries);
    } else if (value instanceof Map) {
      return MAPS.contains(field) && map((Map<?, ?>) value);
    } else if (value instanceof scala.collection.Iterable) {
      return items(field, Reflection.list((scala.collection.Iterable<?>) value));
    } else if (value instanceof Object[]) {
      return items(field, Arrays.asList((Object[]) value));
    } else if (value instanceof java.util.Collection) {
      return items(field, new ArrayList<>((java.util.Collection<?>) value));
    } else if (value.getClass().getName().startsWith("scala.Tuple")) {
      return product((Product) value, true);
    } else if (Places.isPlace(value)) {
      return place(value);
    }
    return value instanceof Product && product((Product) value, false);
  }

  private boolean node(Object node) {
    out.append("{\"k\":");
    text(kind(node));
    if (kind(node).equals("LogicalRDD")) {
      read.add((LogicalPlan) node);
    }
    auto.met(node);
    if (node instanceof NamedExpression) {
      Object id = Reflection.call(node, "exprId");
      if (id instanceof ExprId) {
        out.append(",\"x\":");
        id((ExprId) id);
      }
    }
    if (node instanceof Literal || kind(node).equals("AttributeReference") || kind(node).equals("Cast")) {
      Object type = Reflection.call(node, "dataType");
      if (type instanceof DataType) {
        String named = Reflection.text(type, "simpleString");
        out.append(",\"t\":");
        text(named.length() > MAX_TYPE ? named.substring(0, MAX_TYPE) : named);
      }
    }
    if (!(node instanceof Literal)) {
      fields((Product) node, node instanceof Expression);
    }
    if (node == root) {
      Object made = new CreatedTables(session).of(node);
      key(made instanceof String ? "location" : "made", made);
      Object generated = new GeneratedColumns(session).of(node);
      if (generated instanceof LogicalPlan) {
        auto.keep((LogicalPlan) generated);
      }
      key("generated", generated);
    }
    return raw("}");
  }

  private boolean product(Product product, boolean tuple) {
    if (tuple) {
      out.append('[');
      for (int at = 0; at < product.productArity(); at++) {
        out.append(at > 0 ? "," : "");
        if (!value("tuple", product.productElement(at))) {
          out.append("null");
        }
      }
      return raw("]");
    }
    out.append("{\"k\":");
    text(kind(product));
    fields(product, false);
    return raw("}");
  }

  private void fields(Product product, boolean expression) {
    String[] names = NAMES.computeIfAbsent(product.getClass(), PlanWriter::names);
    for (int at = 0; at < product.productArity(); at++) {
      String name = at < names.length ? names[at] : "_" + at;
      if (!LEFT_OUT.contains(name)) {
        Object value = product.productElement(at);
        key(name, expression && name.equals("name") && auto.hides(product, value) ? "?" : value);
        if (name.equals("query") && value instanceof LogicalPlan) {
          auto.keep((LogicalPlan) value);
          key("queryOutput", Reflection.call(value, "output"));
        }
      }
    }
  }

  private void key(String name, Object value) {
    int before = out.length();
    out.append(',');
    text(name);
    out.append(':');
    if (!value(name, value)) {
      out.setLength(before);
    }
  }

  private boolean place(Object place) {
    out.append("{\"k\":");
    text(kind(place));
    Map<String, Object> facts = Places.facts(place);
    database = facts.get("url") instanceof String ? (String) facts.get("url") : "";
    for (Map.Entry<String, Object> fact : facts.entrySet()) {
      key(fact.getKey(), fact.getValue());
    }
    return raw("}");
  }

  private boolean items(String field, List<?> items) {
    int before = out.length();
    String comma = "";
    out.append('[');
    for (Object item : items) {
      int here = out.length();
      out.append(comma);
      if (value(field, item)) {
        comma = ",";
      } else {
        out.setLength(here);
      }
    }
    if (comma.isEmpty()) {
      out.setLength(before);
    }
    return !comma.isEmpty() && raw("]");
  }

  /** Writes only the expressions of other maps, such as a bean's by its setters; their texts may be values of data. */
  private boolean expressions(String field, Map<?, ?> map) {
    List<Object> found = new ArrayList<>(map.values());
    found.removeIf(each -> !(each instanceof Expression));
    return items(field, found);
  }

  private boolean map(Map<?, ?> map) {
    int before = out.length();
    String url = "";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      url = "url".equalsIgnoreCase(String.valueOf(entry.getKey())) ? String.valueOf(entry.getValue()) : url;
    }
    out.append('{');
    String comma = "";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      String name = String.valueOf(entry.getKey()).toLowerCase();
      if (OPTIONS.contains(name) && entry.getValue() instanceof String) {
        out.append(comma);
        text(name);
        out.append(':');
        text(Redaction.text(name, Places.qualified(hadoop, name, (String) entry.getValue()), url));
        comma = ",";
      }
    }
    if (comma.isEmpty()) {
      out.setLength(before);
    }
    return !comma.isEmpty() && raw("}");
  }

  private boolean id(ExprId id) {
    int at = jvms.indexOf(id.jvmId());
    if (at < 0) {
      at = jvms.size();
      jvms.add(id.jvmId());
    }
    return raw("[" + id.id() + "," + at + "]");
  }

  private boolean raw(String text) {
    out.append(text);
    return true;
  }

  private boolean text(String text) {
    return raw(Json.quoted(text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) : text));
  }

  /** The class without its package; for an anonymous class its superclass. */
  static String kind(Object value) {
    return KINDS.computeIfAbsent(value.getClass(), PlanWriter::kindOf);
  }

  private static String kindOf(Class<?> concrete) {
    for (Class<?> type = concrete; ; type = type.getSuperclass()) {
      String[] parts = type.getName().substring(type.getName().lastIndexOf('.') + 1).split("\\$");
      if (!parts[parts.length - 1].matches("\\d+") || type.getSuperclass() == null) {
        return parts[parts.length - 1];
      }
    }
  }

  /** The names of a case class's parameters: Scala keeps them in its constructor, and each has an accessor. */
  private static String[] names(Class<?> type) {
    List<String> best = new ArrayList<>();
    for (java.lang.reflect.Constructor<?> each : type.getConstructors()) {
      List<String> names = new ArrayList<>();
      for (java.lang.reflect.Parameter parameter : each.getParameters()) {
        try {
          names.add(type.getMethod(parameter.getName()).getName());
        } catch (NoSuchMethodException gone) {
          break; // a parameter of a second list, which is no field
        }
      }
      best = names.size() > best.size() ? names : best;
    }
    return best.toArray(new String[0]);
  }

  private static Set<String> set(String words) {
    return new HashSet<>(Arrays.asList(words.split(" ")));
  }
}
