package throughline.plan;

import java.util.regex.Pattern;

/** Takes values out of texts before they leave the driver: of a query its literals, of an address user and secrets. */
final class Redaction {
  private static final Pattern LITERALS =
      Pattern.compile("'(?:[^']|'')*'|(?<![\\w.])[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?\\b");
  private static final Pattern COMMENTS = Pattern.compile("--[^\\n]*|/\\*.*?\\*/", Pattern.DOTALL);
  private static final Pattern USER = Pattern.compile("(?<=//)[^/@\\s]*:[^/@\\s]*@");
  private static final Pattern PARAMETERS = Pattern.compile("[?].*$", Pattern.DOTALL);
  private static final Pattern SECRETS =
      Pattern.compile("(?i)((?:password|pwd|secret|token|key|sig|user|uid|username)\\w*\\s*=)[^;&]*");

  private Redaction() {}

  static String text(String field, String text) {
    switch (field) {
      case "query":
      case "dbtable":
      case "tableOrQuery":
        return text.indexOf(' ') < 0 ? text : LITERALS.matcher(COMMENTS.matcher(text).replaceAll(" ")).replaceAll("?");
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
}
