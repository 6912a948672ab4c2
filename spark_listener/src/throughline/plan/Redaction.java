package throughline.plan;

import java.util.regex.Pattern;

/** Takes values out of texts before they leave the driver: of a query its literals, of an address user and secrets. */
final class Redaction {
  private static final Pattern LITERALS =
      Pattern.compile("'(?:[^']|'')*'|(?<![\\w.])[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?\\b");
  private static final Pattern QUOTED = Pattern.compile("\"(?:[^\"]|\"\")*\"");
  /** What may hold a value in a way that no simple pattern sees: escapes, dollar quotes, quotes left over, hexadecimal numbers. */
  private static final Pattern UNCLEAR = Pattern.compile("\\\\|\\$\\w*\\$|'|(?i)\\b0x");
  private static final Pattern COMMENTS = Pattern.compile("--[^\\n]*|/\\*.*?\\*/", Pattern.DOTALL);
  private static final Pattern USER = Pattern.compile("(?<=//)[^/@\\s]*:[^/@\\s]*@");
  private static final Pattern PARAMETERS = Pattern.compile("[?].*$", Pattern.DOTALL);
  private static final Pattern SECRETS =
      Pattern.compile("(?i)((?:password|pwd|secret|token|key|sig|user|uid|username)\\w*\\s*=)[^;&]*");

  private Redaction() {}

  /** The text of a field without values; `url` is the address of the database that a query is for, or empty. */
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
        String open = USER.matcher(text).replaceAll("");
        return SECRETS.matcher(PARAMETERS.matcher(open).replaceAll("")).replaceAll("$1?");
      default:
        return text;
    }
  }

  /** A query without literals; `?` where one could be left. MySQL and MariaDB quote texts by `"` too. */
  private static String query(String text, String url) {
    if (text.matches("[\\w.`\"\\[\\]]+")) {
      return text; // a table's name
    }
    if (text.indexOf('\\') >= 0) {
      return "?";
    }
    boolean quotes = url.startsWith("jdbc:mysql:") || url.startsWith("jdbc:mariadb:");
    String bare = LITERALS.matcher(COMMENTS.matcher(text).replaceAll(" ")).replaceAll("?");
    bare = quotes ? QUOTED.matcher(bare).replaceAll("?") : bare;
    return UNCLEAR.matcher(bare).find() ? "?" : bare;
  }
}
