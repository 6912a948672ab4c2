package throughline.plan;

import java.util.regex.Pattern;

/** Removes values from texts before they leave the driver: literals from queries, users and secrets from addresses. */
final class Redaction {
  private static final Pattern LITERALS =
      Pattern.compile("'(?:[^']|'')*'|(?<![\\w.])[+-]?(?:\\d[\\d_]*\\.?[\\d_]*|\\.\\d[\\d_]*)(?:[eE][+-]?\\d+)?\\b");
  private static final Pattern QUOTED = Pattern.compile("\"(?:[^\"]|\"\")*\"");
  /** Possible values that no simple pattern detects: escapes, Oracle's user-defined quotes. */
  private static final Pattern ODD = Pattern.compile("\\\\|(?i)\\bn?q'");
  /** Dollar quotes, hexadecimal numbers, and remaining quotes or comments, such as from a comment in a comment. */
  private static final Pattern UNCLEAR = Pattern.compile("\\$\\w*\\$|'|(?i)\\b0x|/\\*|\\*/");
  private static final Pattern COMMENTS = Pattern.compile("--[^\\n]*|/\\*.*?\\*/", Pattern.DOTALL);
  /** In MySQL and MariaDB only: elsewhere `#` is an operator. */
  private static final Pattern NUMBER_SIGN = Pattern.compile("#[^\\n]*");
  private static final Pattern PATH = Pattern.compile(":/|^/|`/");
  /** User and password of an authority, also with a `/` or `@` in the password; not a port. */
  private static final Pattern USER = Pattern.compile(
      "(?<=//)[^/@:;?\\s]*:(?!\\d+(?:[/,;?]|$))(?:[^/\\s]*@|[^@\\s]*@(?:[^/@\\s]*@)*)|(?<=https?://)[^/@\\s]+@");
  /** Oracle's `jdbc:oracle:thin:user/password@host`. */
  private static final Pattern ORACLE = Pattern.compile("(?<=^jdbc:oracle:(?:thin|oci|oci8):)[^?\\s]*(?=@)");
  private static final Pattern PARAMETERS = Pattern.compile("[?].*$", Pattern.DOTALL);
  private static final Pattern SECRETS =
      Pattern.compile("(?i)((?:(?:password|passwd|passphrase|pwd|secret|token|key|sig|credential|user|uid)\\w*|pass|auth)\\s*=)(?:\\{[^}]*\\}|[^;&])*");

  private Redaction() {}

  /** The text of a field without values; `url` is the address of a query's database, or empty. */
  static String text(String field, String text, String url) {
    switch (field) {
      case "query":
      case "dbtable":
      case "tableOrQuery":
        return query(text, url);
      case "url":
      case "location":
      case "locationUri":
      case "path":
      case "paths":
      case "uri":
      case "outputPath":
      case "rootPaths":
        return address(text);
      default:
        return PATH.matcher(text).find() ? address(text) : text; // a path may name a table
    }
  }

  private static String address(String text) {
    String open = USER.matcher(ORACLE.matcher(text).replaceAll("")).replaceAll("");
    return SECRETS.matcher(PARAMETERS.matcher(open).replaceAll("")).replaceAll("$1?");
  }

  /** A query without literals; `?` if one could remain. MySQL and MariaDB also quote texts by `"`. */
  private static String query(String text, String url) {
    if (text.matches("[\\w.`\"\\[\\]]+")) {
      return text; // a table's name
    }
    if (ODD.matcher(text).find()) {
      return "?";
    }
    boolean ofMySql = url.startsWith("jdbc:mysql:") || url.startsWith("jdbc:mariadb:");
    String bare = LITERALS.matcher(COMMENTS.matcher(text).replaceAll(" ")).replaceAll("?");
    bare = ofMySql ? NUMBER_SIGN.matcher(QUOTED.matcher(bare).replaceAll("?")).replaceAll(" ") : bare;
    return UNCLEAR.matcher(bare).find() ? "?" : bare;
  }
}
