// The scene on a canvas: for pictures of more cards than SVG draws smoothly.

import { CARD_WIDTH, HEAD_HEIGHT, ROW_HEIGHT } from "./layout.js";
import { shortened } from "./draw.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Card} Card
 * @typedef {{x: number, y: number, scale: number}} Camera
 */

export const MAX_SVG_CARDS = 400;
const LEGIBLE = 0.35;

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
  const [right, bottom] = [left + width / camera.scale, top + height / camera.scale];
  context.strokeStyle = colour("line");
  context.lineWidth = 1.5;
  context.beginPath();
  for (const { x1, y1, x2, y2 } of scene.curves) {
    if (Math.max(x1, x2) < left || Math.min(x1, x2) > right || Math.max(y1, y2) < top || Math.min(y1, y2) > bottom) continue;
    const bend = Math.max(50, Math.abs(x2 - x1) / 2);
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  }
  context.stroke();
  const legible = camera.scale >= LEGIBLE;
  for (const card of scene.cards) {
    if (card.x + CARD_WIDTH < left || card.x > right || card.y + card.height < top || card.y > bottom) continue;
    context.fillStyle = colour("card");
    context.strokeStyle = card.subject ? colour("accent") : card.health === "failed" ? colour("bad") : colour("border");
    context.fillRect(card.x, card.y, CARD_WIDTH, card.height);
    context.strokeRect(card.x, card.y, CARD_WIDTH, card.height);
    if (!legible) continue;
    context.fillStyle = colour("text");
    context.font = "600 13px system-ui, sans-serif";
    context.fillText(shortened(card.title, 27), card.x + 12, card.y + 20);
    context.font = "12px system-ui, sans-serif";
    card.rows.forEach((row, place) =>
      context.fillText(shortened(row.name, 27), card.x + 12, card.y + HEAD_HEIGHT + place * ROW_HEIGHT + 15));
  }
}

/** The card under a point of the window, and its row if the point is on one. @param {Scene} scene @param {Camera} camera
 * @param {number} x @param {number} y */
export function hitOn(scene, camera, x, y) {
  const [atX, atY] = [(x - camera.x) / camera.scale, (y - camera.y) / camera.scale];
  const card = scene.cards.find((each) => atX >= each.x && atX <= each.x + CARD_WIDTH && atY >= each.y && atY <= each.y + each.height);
  if (!card) return null;
  const row = card.rows[Math.floor((atY - card.y - HEAD_HEIGHT) / ROW_HEIGHT)];
  return { card, column: row?.column ?? null };
}
