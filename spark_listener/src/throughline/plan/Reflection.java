package throughline.plan;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Calls that differ between versions of Spark, Scala and the listener, by name; null for a missing member, and of null. */
final class Reflection {
  private static final Map<String, Method> METHODS = new ConcurrentHashMap<>();

  private Reflection() {}

  /** The result of the public method without parameters. */
  static Object call(Object of, String name) {
    try {
      String key = of.getClass().getName() + "." + name;
      Method method = METHODS.get(key);
      if (method == null) {
        method = of.getClass().getMethod(name);
        method.setAccessible(true);
        METHODS.put(key, method);
      }
      return method.invoke(of);
    } catch (ReflectiveOperationException | RuntimeException | LinkageError none) {
      return null;
    }
  }

  /** The result of the public method with one parameter. */
  static Object call(Object of, String name, Class<?> type, Object argument) {
    try {
      Method method = of.getClass().getMethod(name, type);
      method.setAccessible(true);
      return method.invoke(of, argument);
    } catch (ReflectiveOperationException | RuntimeException | LinkageError none) {
      return null;
    }
  }

  /** A public method's result as text; empty without a result. */
  static String text(Object of, String name) {
    Object found = call(of, name);
    return found == null ? "" : found.toString();
  }

  /** The value of a field, static or not, private or not, of the class or a superclass. */
  static Object field(Object of, String name) {
    for (Class<?> type = of == null ? null : of.getClass(); type != null; type = type.getSuperclass()) {
      try {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
      } catch (ReflectiveOperationException | RuntimeException none) {
        continue;
      }
    }
    return null;
  }

  /** A Scala map as one of Java's, in its order. */
  static Map<Object, Object> map(scala.collection.Map<?, ?> entries) {
    Map<Object, Object> found = new LinkedHashMap<>();
    for (Object entry : list(entries)) {
      found.put(((scala.Tuple2<?, ?>) entry)._1(), ((scala.Tuple2<?, ?>) entry)._2());
    }
    return found;
  }

  /** A Scala collection as a list. */
  static List<Object> list(scala.collection.Iterable<?> items) {
    List<Object> found = new ArrayList<>();
    for (scala.collection.Iterator<?> each = items.iterator(); each.hasNext(); ) {
      found.add(each.next());
    }
    return found;
  }
}
