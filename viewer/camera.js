// Pan and zoom, and the minimap.

import { CARD_WIDTH } from "./layout.js";
import { svg } from "./draw.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {{x: number, y: number, scale: number}} Place
 */

const SMALLEST = 0.04;
const LARGEST = 3;
/** The smallest scale at which the smallest text (12 pixels) has 11: below it a picture is moved instead of being shrunk. */
export const READABLE = 11 / 12;
/** The largest scale that a small picture gets by itself. */
const ENLARGED = 1.4;
/** The part of a side of the window that stays free. */
const MARGIN = 0.04;
const PAN_STEP = 60;
const MAX_ON_MAP = 3000;

export class Camera {
  /** @param {HTMLElement} stage @param {SVGSVGElement} minimap @param {() => void} moved called after each move */
  constructor(stage, minimap, moved) {
    this.stage = stage;
    this.minimap = minimap;
    this.moved = moved;
    /** @type {Place} */
    this.place = { x: 0, y: 0, scale: 1 };
    /** @type {Scene} */
    this.scene = { cards: [], curves: [], width: 0, height: 0 };
    /** @type {Map<number, {x: number, y: number}>} where the button or the fingers that are down were last */
    this.held = new Map();
    this.dragged = false;
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (event) => { this.held.delete(/** @type {PointerEvent} */ (event).pointerId); }); // also outside of the picture
    minimap.addEventListener("pointerdown", (event) => this.jump(event));
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey || !event.shiftKey) {
      const box = this.stage.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top);
    } else this.pan(-event.deltaX, -event.deltaY);
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button !== 0) return;
    if (!this.held.size) this.dragged = false;
    this.held.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  /** One finger moves the picture, a second one zooms it around the first. @param {PointerEvent} event */
  drag(event) {
    const point = this.held.get(event.pointerId);
    if (!point) return;
    const target = { x: event.clientX, y: event.clientY };
    const [dx, dy] = [target.x - point.x, target.y - point.y];
    if (!this.dragged && Math.abs(dx) + Math.abs(dy) < 4) return;
    this.dragged = true;
    this.held.set(event.pointerId, target);
    const other = [...this.held].find(([pointer]) => pointer !== event.pointerId)?.[1];
    if (!other) return this.pan(dx, dy);
    const box = this.stage.getBoundingClientRect();
    const [far, farther] = [point, target].map((end) => Math.max(1, Math.hypot(end.x - other.x, end.y - other.y)));
    this.zoom(farther / far, other.x - box.left, other.y - box.top);
  }

  /** @param {number} dx @param {number} dy in pixels of the window */
  pan(dx, dy) {
    this.place.x += dx;
    this.place.y += dy;
    this.moved();
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] the point that stays */
  zoom(factor, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.place.scale * factor));
    const real = scale / this.place.scale;
    this.place = { x: x - (x - this.place.x) * real, y: y - (y - this.place.y) * real, scale };
    this.moved();
  }

  /** Show the scene at a readable size, around the chosen card where it is larger than the window. Done again: the whole
   * scene at any size. */
  fit() {
    const { place, scene } = this;
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    const whole = Math.min(ENLARGED, width * (1 - 2 * MARGIN) / Math.max(scene.width, 1), height * (1 - 2 * MARGIN) / Math.max(scene.height, 1));
    const centred = (/** @type {number} */ scale) => {
      const subject = scene.cards.find((card) => card.subject);
      const along = (/** @type {number} */ side, /** @type {number} */ size, /** @type {number} */ middle) => {
        if (size * scale <= side) return (side - size * scale) / 2;
        return Math.min(side * MARGIN, Math.max(side * (1 - MARGIN) - size * scale, side / 2 - middle * scale));
      };
      return { x: along(width, scene.width, subject ? subject.x + CARD_WIDTH / 2 : 0),
        y: along(height, scene.height, subject ? subject.y + Math.min(subject.height, height / scale) / 2 : 0), scale };
    };
    const readable = centred(Math.max(READABLE, whole));
    const isAgain = place.x === readable.x && place.y === readable.y && place.scale === readable.scale;
    this.place = isAgain ? centred(Math.max(SMALLEST, whole)) : readable;
    this.moved();
  }

  /** Move the picture by a key; return whether the key does that. @param {string} key */
  key(key) {
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowLeft: () => this.pan(PAN_STEP, 0), ArrowRight: () => this.pan(-PAN_STEP, 0), ArrowUp: () => this.pan(0, PAN_STEP),
      ArrowDown: () => this.pan(0, -PAN_STEP), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.fit(),
    };
    actions[key]?.();
    return key in actions;
  }

  /** Draw the minimap, where something lies outside the window. */
  map() {
    const { scene, place } = this;
    const isInside = place.x >= 0 && place.y >= 0 && place.x + scene.width * place.scale <= this.stage.clientWidth &&
      place.y + scene.height * place.scale <= this.stage.clientHeight;
    this.minimap.toggleAttribute("hidden", isInside || !scene.cards.length);
    if (isInside) return;
    const [width, height] = [this.stage.clientWidth / place.scale, this.stage.clientHeight / place.scale];
    const view = { x: -place.x / place.scale, y: -place.y / place.scale };
    const left = Math.min(0, view.x);
    const top = Math.min(0, view.y);
    const right = Math.max(scene.width, view.x + width);
    const bottom = Math.max(scene.height, view.y + height);
    this.minimap.setAttribute("viewBox", `${left} ${top} ${Math.max(right - left, 1)} ${Math.max(bottom - top, 1)}`);
    this.minimap.replaceChildren(
      ...scene.cards.slice(0, MAX_ON_MAP).map((card) => svg("rect", { class: card.subject ? "subject" : "card", x: card.x, y: card.y, width: CARD_WIDTH, height: card.height })),
      svg("rect", { class: "window", x: view.x, y: view.y, width, height }));
  }

  /** @param {PointerEvent} event */
  jump(event) {
    const matrix = this.minimap.getScreenCTM();
    if (!matrix) return;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    this.place.x = this.stage.clientWidth / 2 - point.x * this.place.scale;
    this.place.y = this.stage.clientHeight / 2 - point.y * this.place.scale;
    this.moved();
  }
}
