package throughline.plan;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SparkContext;

/** An OpenLineage event with the facet `throughline_plan`: of an execution that ended, or of the application. */
final class PlanEvent {
  private static final String SCHEMA = "https://throughline.dev/spec/facets/1-0-0/ThroughlinePlanRunFacet.json";
  private static final String PRODUCER = "https://throughline.dev/spark-listener/0.1.0";
  private static final String OPENLINEAGE = "\",\"_schemaURL\":\"https://openlineage.io/spec/";
  private final String type;
  private final long time;
  private final String run;
  private final String[] application;
  private final StringBuilder facet = new StringBuilder("{\"_producer\":\"" + PRODUCER + "\",\"_schemaURL\":\"" + SCHEMA + "\",\"format\":1");
  private String job;
  private String jobFacets = "";
  private String parent = "";

  private PlanEvent(String type, long time, String run, String[] application, SparkContext context) {
    this.type = type;
    this.time = time;
    this.run = run;
    this.application = application;
    this.job = application[1];
    text("spark", context.version());
    text("application", context.applicationId());
  }

  /** The end of an execution; `failed` is the class of the exception, or null. */
  static PlanEvent ended(Executions.Execution execution, long time, String failed, SparkContext context, OpenLineageRuns runs) {
    boolean joined = execution.run != null;
    String run = joined ? execution.run : OpenLineageRuns.made("throughline:" + context.applicationId() + ":" + execution.id);
    PlanEvent event = new PlanEvent(failed == null ? "COMPLETE" : "FAIL", time, run, runs.application(context), context);
    event.facet.append(",\"execution\":").append(execution.id).append(",\"joined\":").append(joined);
    event.text("root", execution.isRoot() ? null : Long.toString(execution.root));
    event.text("failed", failed);
    event.job += "." + Commands.operation(execution.plan);
    event.jobFacets = "\"jobType\":{\"_producer\":\"" + PRODUCER + OPENLINEAGE
        + "facets/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet\",\"processingType\":\""
        + (Commands.isBatch(execution.plan) ? "STREAMING" : "BATCH") + "\",\"integration\":\"SPARK\",\"jobType\":\"SQL_JOB\"}";
    event.parent = "\"parent\":{\"_producer\":\"" + PRODUCER + OPENLINEAGE
        + "facets/1-0-1/ParentRunFacet.json#/$defs/ParentRunFacet\",\"run\":{\"runId\":" + Json.quoted(event.application[0])
        + "},\"job\":{\"namespace\":" + Json.quoted(event.application[2]) + ",\"name\":" + Json.quoted(event.application[1]) + "}},";
    return event;
  }

  /** What is said of an application at its end: how many plans were lost. */
  static PlanEvent lost(SparkContext context, OpenLineageRuns runs) {
    String[] application = runs.application(context);
    return new PlanEvent("OTHER", System.currentTimeMillis(), application[0], application, context);
  }

  /** The event as JSON, with the plan or the reason why it is missing, and the number of plans lost before. */
  String json(String document, String problem, int lost) {
    text("problem", problem);
    text("plan", document == null ? null : packed(document));
    if (lost > 0) {
      facet.append(",\"lost\":").append(lost);
    }
    return "{\"eventTime\":\"" + Instant.ofEpochMilli(time) + "\",\"eventType\":\"" + type + "\",\"producer\":\"" + PRODUCER
        + "\",\"schemaURL\":\"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent\",\"run\":{\"runId\":"
        + Json.quoted(run) + ",\"facets\":{" + parent + "\"throughline_plan\":" + facet + "}}},\"job\":{\"namespace\":"
        + Json.quoted(application[2]) + ",\"name\":" + Json.quoted(job) + ",\"facets\":{" + jobFacets + "}},\"inputs\":[],\"outputs\":[]}";
  }

  private void text(String name, String value) {
    if (value != null) {
      facet.append(",\"").append(name).append("\":").append(Json.quoted(value));
    }
  }

  private static String packed(String document) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(document.length() / 8 + 64);
    try (OutputStream zip = new GZIPOutputStream(bytes)) {
      zip.write(document.getBytes(StandardCharsets.UTF_8));
    } catch (IOException impossible) { // in memory
      throw new UncheckedIOException(impossible);
    }
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }
}
