// Texts from events: marks that act instead of being seen are shown as escapes. The twin of shared/texts.py.

/** Unicode's controls, format characters, surrogates, and separators of lines and paragraphs, but for the joiners of scripts
 * and emoji. */
const ACTING = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** @type {Record<string, string>} */
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** Return a text on one line, with `\x1b`, `\n`, `\u202e` … for marks that act. @param {string} text */
export function visible(text) {
  return text.replace(ACTING, (mark) => {
    const digits = (mark.codePointAt(0) ?? 0).toString(16);
    if (digits.length <= 2) return SHORT[mark] ?? `\\x${digits.padStart(2, "0")}`;
    return digits.length <= 4 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
}

/** Make a node of several lines, each of them visible. @param {string[]} texts */
export function lines(texts) {
  return document.createTextNode(texts.map(visible).join("\n"));
}

/** Return the children of an element, their texts visible. @param {(Node | string)[]} children */
export function shown(children) {
  return children.map((child) => (typeof child === "string" ? visible(child) : child));
}

/** Attributes that people read or hear. */
const READ = new Set(["aria-label", "download", "title"]);

/** Return the value of an attribute; one that people read is visible. @param {string} name @param {string | number | boolean} value */
export function attribute(name, value) {
  return READ.has(name) ? visible(String(value)) : String(value);
}
