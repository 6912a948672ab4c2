// The scene on a canvas: for pictures of more cards than SVG draws smoothly. Colours, lines and marks are those of draw.js
// and page.css; names and badges are drawn only at a readable scale.

import { traced } from "./curves.js";
import { CARD_WIDTH, HEAD_HEIGHT, ROW_HEIGHT } from "./layout.js";
import { lookOf } from "./scene.js";
import { TEXTS } from "./texts.js";
import { FONTS, fitted } from "./measured.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Card} Card
 * @typedef {import("./scene.js").Curve} Curve
 * @typedef {{x: number, y: number, scale: number}} Camera
 * @typedef {import("./curves.js").Box} Box
 * @typedef {(name: string) => string} Colour
 */

export const MAX_SVG_CARDS = 400;
const LEGIBLE = 0.35;
const CHANGES = ["added", "gone", "changed"];
/** @type {Record<string, number[]>} */
const DASHES = { mask: [7, 3], opaque: [8, 3, 2, 3], catalog: [1, 4], condition: [2, 4], gone: [4, 6] };

/** @param {HTMLCanvasElement} canvas @param {Scene} scene @param {Camera} camera */
export function painted(canvas, scene, camera) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
  }
  const styles = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => styles.getPropertyValue(`--${name}`).trim() || "#888";
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.translate(camera.x, camera.y);
  context.scale(camera.scale, camera.scale);
  const [left, top] = [-camera.x / camera.scale, -camera.y / camera.scale];
  const window_ = { left, top, right: left + width / camera.scale, bottom: top + height / camera.scale };
  paintCurves(context, scene.curves, window_, camera.scale, colour);
  for (const card of scene.cards) {
    if (!isSeen(window_, card.x, card.y, card.x + CARD_WIDTH, card.y + card.height)) continue;
    paintBox(context, card, colour);
    if (camera.scale >= LEGIBLE) paintTexts(context, card, colour);
  }
}

/** @param {Box} box @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function isSeen({ left, top, right, bottom }, x1, y1, x2, y2) {
  return Math.max(x1, x2) >= left && Math.min(x1, x2) <= right && Math.max(y1, y2) >= top && Math.min(y1, y2) <= bottom;
}

/** Draw curves of the same look as one path, which is fast. @param {CanvasRenderingContext2D} context @param {Curve[]} curves
 * @param {Box} window_ @param {number} scale @param {Colour} colour */
function paintCurves(context, curves, window_, scale, colour) {
  /** @type {Map<string, Curve[]>} */
  const looks = new Map();
  for (const curve of curves) {
    if (!isSeen(window_, curve.x1, curve.y1, curve.x2, curve.y2)) continue;
    const look = curve.change || lookOf(curve);
    const same = looks.get(look);
    if (same) same.push(curve);
    else looks.set(look, [curve]);
  }
  for (const [look, same] of looks) {
    context.strokeStyle = colour(look === "table" ? "line" : look);
    context.lineWidth = CHANGES.includes(look) ? 3 : look === "aggregation" ? 2.6 : 1.6;
    // When zoomed out, dashes keep their length on the screen: thousands of them in a pixel take seconds.
    context.setLineDash((DASHES[look] ?? []).map((length) => length / Math.min(1, scale)));
    context.beginPath();
    for (const curve of same) traced(context, curve, window_);
    context.stroke();
  }
  context.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} context @param {Card} card @param {Colour} colour */
function paintBox(context, card, colour) {
  const isBad = card.health === "failed";
  const isLate = card.health === "overdue" || card.health === "unended";
  context.fillStyle = colour(card.hop ? `hop-${Math.min(card.hop, 3)}` : "card");
  context.strokeStyle = colour(card.subject ? "accent" : isBad ? "bad" : isLate ? "warn" : "border");
  context.lineWidth = card.subject || isBad ? 2.5 : isLate ? 2 : 1;
  context.setLineDash(isLate ? [8, 3] : card.placeholder ? [4, 3] : []);
  context.fillRect(card.x, card.y, CARD_WIDTH, card.height);
  context.strokeRect(card.x, card.y, CARD_WIDTH, card.height);
  context.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} context @param {Card} card @param {Colour} colour */
function paintTexts(context, card, colour) {
  const put = (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, /** @type {keyof typeof FONTS} */ font, /** @type {string} */ name) => {
    context.font = FONTS[font];
    context.fillStyle = colour(name);
    context.fillText(text, card.x + x, card.y + y);
  };
  const room = CARD_WIDTH - 24;
  put(fitted(card.title, card.conditions.length ? room - 36 : room, "title"), 12, 21, "title", "text");
  put(fitted(card.subtitle, room, "small", true), 12, 39, "small", "dim");
  put(fitted(card.note, card.failedTests ? room - 42 : room, "small"), 12, 56, "small", "dim");
  if (card.conditions.length) put(`if ${card.conditions.length}`, CARD_WIDTH - 36, 20, "small", "dim");
  if (card.failedTests) put(`✗ ${card.failedTests}`, CARD_WIDTH - 40, 56, "small", "bad");
  if (card.hiddenUp) put(`${card.hiddenUp} ${TEXTS.more}`, -56, 16, "small", "dim");
  if (card.hiddenDown) put(`${card.hiddenDown} ${TEXTS.more}`, CARD_WIDTH + 8, 16, "small", "dim");
  if (card.unresolved.length) put("?", -12, card.height - 8, "title", "warn");
  card.rows.forEach((row, place) => {
    const y = HEAD_HEIGHT + place * ROW_HEIGHT + 15;
    put(fitted(row.name, room - 20, "text"), 12, y, "text", row.subject ? "accent" : "text");
    if (row.unknown || row.constant) put(row.unknown ? "?" : "=", CARD_WIDTH - 20, y, "title", "warn");
  });
  if (card.hiddenRows) put(`+${card.hiddenRows} of ${card.allRows}`, 12, HEAD_HEIGHT + card.rows.length * ROW_HEIGHT + 15, "small", "dim");
}

/** Return the card under a point of the window, and its row if the point is on one. @param {Scene} scene @param {Camera} camera
 * @param {number} x @param {number} y */
export function hitOn(scene, camera, x, y) {
  const [atX, atY] = [(x - camera.x) / camera.scale, (y - camera.y) / camera.scale];
  const card = scene.cards.find((each) => atX >= each.x && atX <= each.x + CARD_WIDTH && atY >= each.y && atY <= each.y + each.height);
  if (!card) return null;
  const row = card.rows[Math.floor((atY - card.y - HEAD_HEIGHT) / ROW_HEIGHT)];
  return { card, column: row?.column ?? null };
}
