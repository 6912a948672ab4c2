// Texts that fit: cut by their width in pixels, between characters as people count them.

import { visible } from "./visible.js";

export const FONTS = { title: "600 14px system-ui, sans-serif", text: "13px system-ui, sans-serif", small: "12px system-ui, sans-serif" };
const MOST_TEXTS = 20000;
const segments = "Segmenter" in Intl ? new Intl.Segmenter() : null;
/** @type {Map<string, string>} */
const fitting = new Map();
/** @type {CanvasRenderingContext2D | null} */
let ruler = null;

/** The width of a text in pixels at scale 1. @param {string} text @param {keyof typeof FONTS} font */
export function widthOf(text, font) {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 0;
  ruler.font = FONTS[font];
  return ruler.measureText(text).width;
}

/** Return the visible text, cut where it is wider than this; `end`: cut at its start. @param {string} text
 * @param {number} width @param {keyof typeof FONTS} font @param {boolean} [end] */
export function fitted(text, width, font, end = false) {
  const key = `${font} ${width} ${end} ${text}`;
  const known = fitting.get(key);
  if (known !== undefined) return known;
  if (fitting.size > MOST_TEXTS) fitting.clear();
  const signs = segments ? [...segments.segment(visible(text))].map(({ segment }) => segment) : [...visible(text)];
  const cut = (/** @type {number} */ number) => (number === signs.length ? signs.join("")
    : end ? `…${number ? signs.slice(-number).join("") : ""}` : `${signs.slice(0, number).join("")}…`);
  let [least, most] = [0, signs.length];
  if (widthOf(cut(most), font) > width) {
    while (most - least > 1) {
      const middle = (least + most) >> 1;
      if (widthOf(cut(middle), font) <= width) least = middle;
      else most = middle;
    }
    most = least;
  }
  fitting.set(key, cut(most));
  return cut(most);
}
