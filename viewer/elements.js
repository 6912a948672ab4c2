// Make elements of HTML. Names and texts from events are always text, never markup.

import { attribute, shown } from "./visible.js";

/**
 * @param {string} name an element's name, with classes after dots: `p.note`
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== undefined && value !== false) made.setAttribute(key, attribute(key, value));
  }
  made.append(...shown(children));
  return made;
}

/** Make a button with an action. @param {string} text @param {() => void} action
 * @param {Record<string, string | number | boolean | undefined>} attributes */
export function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** Make a list of terms and their values, without the empty ones. @param {[string, string | Node][]} rows */
export function facts(rows) {
  const list = element("dl");
  for (const [term, value] of rows) if (value) list.append(element("dt", {}, term), element("dd", {}, value));
  return list;
}

/** @param {string} text */
export function copied(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { "aria-hidden": "true" }));
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return Promise.resolve(done);
}

/** Save something as a file. @param {string} name @param {Blob} content */
export function saved(name, content) {
  const address = URL.createObjectURL(content);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A row of a CSV file (RFC 4180); a cell that a spreadsheet would take for a formula gets a quote in front.
 * @param {string[]} cells */
export function csvRow(cells) {
  return cells.map((cell) => {
    const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",") + "\r\n";
}

/** @param {string} id @returns {any} an element that the page has */
export function byId(id) {
  return document.getElementById(id);
}
