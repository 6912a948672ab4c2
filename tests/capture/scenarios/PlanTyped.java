import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.CoGroupFunction;
import org.apache.spark.api.java.function.FilterFunction;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.MapGroupsFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.api.java.function.ReduceFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.Aggregator;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** The steps of plan_typed.py: Datasets of Java objects, functions of Java, one sink each. */
public final class PlanTyped {
  private static final Encoder<Order> ORDER = Encoders.bean(Order.class);
  private static final Encoder<Sum> SUM = Encoders.bean(Sum.class);

  private PlanTyped() {}

  /** An order: all that its functions may use. */
  public static final class Order implements Serializable {
    private int id;
    private double amount;
    private String status;

    public int getId() {
      return id;
    }

    public void setId(int id) {
      this.id = id;
    }

    public double getAmount() {
      return amount;
    }

    public void setAmount(double amount) {
      this.amount = amount;
    }

    public String getStatus() {
      return status;
    }

    public void setStatus(String status) {
      this.status = status;
    }
  }

  /** A sum of something. */
  public static final class Sum implements Serializable {
    private String word;
    private double total;

    public Sum() {}

    Sum(String word, double total) {
      this.word = word;
      this.total = total;
    }

    public String getWord() {
      return word;
    }

    public void setWord(String word) {
      this.word = word;
    }

    public double getTotal() {
      return total;
    }

    public void setTotal(double total) {
      this.total = total;
    }
  }

  /** A sum as an aggregate of its own. */
  public static final class Adding extends Aggregator<Double, Double, Double> {
    @Override
    public Double zero() {
      return 0.0;
    }

    @Override
    public Double reduce(Double sum, Double value) {
      return sum + value;
    }

    @Override
    public Double merge(Double one, Double other) {
      return one + other;
    }

    @Override
    public Double finish(Double sum) {
      return sum;
    }

    @Override
    public Encoder<Double> bufferEncoder() {
      return Encoders.DOUBLE();
    }

    @Override
    public Encoder<Double> outputEncoder() {
      return Encoders.DOUBLE();
    }
  }

  public static void run(SparkSession spark, String data) {
    Dataset<Row> rows = spark.read().parquet(data + "/in/orders");
    Dataset<Row> notes = spark.read().parquet(data + "/in/notes");
    Dataset<Order> orders = rows.select("id", "amount", "status").as(ORDER);
    elements(orders, data);
    groups(orders, rows, notes, data);
    functions(spark, rows, data);
  }

  private static void elements(Dataset<Order> orders, String data) {
    MapFunction<Order, Sum> sum = order -> new Sum(order.getStatus(), order.getAmount());
    orders.map(sum, SUM).write().json(data + "/out/mapped");
    FilterFunction<Order> large = order -> order.getAmount() > 1;
    orders.filter(large).select("id").write().json(data + "/out/filtered");
    FlatMapFunction<Order, String> letters = order -> Collections.singletonList(order.getStatus()).iterator();
    orders.flatMap(letters, Encoders.STRING()).write().json(data + "/out/flat");
    MapPartitionsFunction<Order, Integer> ids = PlanTyped::ids;
    orders.mapPartitions(ids, Encoders.INT()).toDF("number").write().json(data + "/out/by_partition");
    orders.map((MapFunction<Order, Double>) Order::getAmount, Encoders.DOUBLE()).filter("value > 1")
        .map((MapFunction<Double, String>) String::valueOf, Encoders.STRING()).write().json(data + "/out/mapped_twice");
    orders.select(functions.col("status").as(Encoders.STRING())).distinct().write().json(data + "/out/chosen");
  }

  private static Iterator<Integer> ids(Iterator<Order> orders) {
    List<Integer> found = new ArrayList<>();
    orders.forEachRemaining(order -> found.add(order.getId()));
    return found.iterator();
  }

  private static void groups(Dataset<Order> orders, Dataset<Row> rows, Dataset<Row> notes, String data) {
    MapFunction<Order, String> status = Order::getStatus;
    KeyValueGroupedDataset<String, Order> grouped = orders.groupByKey(status, Encoders.STRING());
    MapGroupsFunction<String, Order, Sum> first = (key, each) -> new Sum(key, each.next().getAmount());
    grouped.mapGroups(first, SUM).write().json(data + "/out/grouped");
    ReduceFunction<Order> larger = (one, other) -> one.getAmount() > other.getAmount() ? one : other;
    grouped.reduceGroups(larger).toDF("status", "largest").write().json(data + "/out/reduced");
    grouped.count().toDF("status", "number").write().json(data + "/out/counted");
    Dataset<String> words = notes.select("note").as(Encoders.STRING());
    KeyValueGroupedDataset<String, String> others = words.groupByKey((MapFunction<String, String>) note -> note, Encoders.STRING());
    CoGroupFunction<String, Order, String, String> both = (key, left, right) -> Collections.singletonList(key).iterator();
    grouped.cogroup(others, both, Encoders.STRING()).write().json(data + "/out/together");
    Dataset<Order> large = orders.where("amount > 1");
    orders.as("a").joinWith(large.as("b"), functions.expr("a.id = b.id")).toDF("one", "other")
        .selectExpr("one.status", "other.amount").write().json(data + "/out/joined");
  }

  private static void functions(SparkSession spark, Dataset<Row> rows, String data) {
    UDF2<String, Double, String> label = (status, amount) -> status + amount;
    spark.udf().register("label", label, DataTypes.StringType);
    spark.udf().register("adding", functions.udaf(new Adding(), Encoders.DOUBLE()));
    rows.selectExpr("id", "label(status, amount) AS label").write().json(data + "/out/by_java");
    rows.groupBy("status").agg(functions.expr("adding(amount) AS total")).write().json(data + "/out/by_aggregator");
  }
}
