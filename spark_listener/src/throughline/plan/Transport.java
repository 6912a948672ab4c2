package throughline.plan;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/**
 * Sends an event as the OpenLineage listener would: `spark.openlineage.transport.*` of type http, file or console. The
 * same keys below `spark.throughline.plan.transport.` override them.
 */
final class Transport {
  private static final String OURS = "spark.throughline.plan.transport.";
  private static final String LISTENERS = "spark.openlineage.transport.";
  private static final int TIMEOUT = 5_000;
  private final SparkConf conf;
  private final String type;

  /** A problem with our own message: other messages may quote an address with its secrets. */
  static final class Refused extends IOException {
    /** Whether it would be refused again. */
    final boolean isFinal;

    Refused(String why, boolean isFinal) {
      super(why);
      this.isFinal = isFinal;
    }
  }

  Transport(SparkConf conf) {
    this.conf = conf;
    this.type = get("type", "console");
  }

  /** Throws IOException when it could not be delivered, with a message without secrets. */
  void send(String event) throws IOException {
    byte[] body = event.getBytes(StandardCharsets.UTF_8);
    switch (type) {
      case "http":
        post(body);
        return;
      case "file":
        try (OutputStream file = new FileOutputStream(get("location", ""), true)) {
          file.write((event + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return;
      case "console":
        org.slf4j.LoggerFactory.getLogger(Transport.class).info(event);
        return;
      default:
        throw new Refused("plans are not sent by a transport of type " + type + " (http, file and console are known)", true);
    }
  }

  private void post(byte[] body) throws IOException {
    String url = get("url", "").replaceAll("/+$", "");
    String endpoint = get("endpoint", "api/v1/lineage").replaceAll("^/+", "");
    StringBuilder query = new StringBuilder();
    for (String[] parameter : below("urlParams.")) {
      query.append(query.length() == 0 ? '?' : '&').append(encoded(parameter[0])).append('=').append(encoded(parameter[1]));
    }
    HttpURLConnection call = (HttpURLConnection) new URL(url + "/" + endpoint + query).openConnection();
    int timeout = Math.min(Integer.parseInt(get("timeoutInMillis", String.valueOf(TIMEOUT))), 30_000);
    call.setConnectTimeout(timeout);
    call.setReadTimeout(timeout);
    call.setRequestMethod("POST");
    call.setDoOutput(true);
    call.setRequestProperty("Content-Type", "application/json");
    String key = get("auth.apiKey", get("auth.api_key", ""));
    if (!key.isEmpty()) {
      call.setRequestProperty("Authorization", "Bearer " + key);
    }
    for (String[] header : below("headers.")) {
      call.setRequestProperty(header[0], header[1]);
    }
    call.setFixedLengthStreamingMode(body.length);
    try (OutputStream out = call.getOutputStream()) {
      out.write(body);
    }
    int status = call.getResponseCode();
    try (InputStream answer = status < 400 ? call.getInputStream() : call.getErrorStream()) {
      byte[] rest = new byte[4096];
      while (answer != null && answer.read(rest) >= 0) {
        continue; // read to its end, so that the connection can be used again
      }
    }
    if (status >= 300) {
      throw new Refused("the receiver answered " + status, status < 500 && status != 408 && status != 429);
    }
  }

  private String get(String key, String otherwise) {
    return conf.get(OURS + key, conf.get(LISTENERS + key, otherwise));
  }

  private java.util.List<String[]> below(String prefix) {
    java.util.List<String[]> found = new java.util.ArrayList<>();
    for (Tuple2<String, String> each : conf.getAll()) {
      for (String start : new String[] {LISTENERS, OURS}) {
        if (each._1().startsWith(start + prefix)) {
          found.add(new String[] {each._1().substring((start + prefix).length()), each._2()});
        }
      }
    }
    return found;
  }

  private static String encoded(String text) throws IOException {
    return URLEncoder.encode(text, "UTF-8");
  }
}
