// The picture: the cards and curves of a selection, as SVG or on a canvas, seen by the camera.

import { Camera } from "./camera.js";
import { MAX_SVG_CARDS, hitOn, painted } from "./canvas.js";
import { drawn, svg } from "./draw.js";
import { byId } from "./elements.js";
import { Layouts } from "./layouts.js";
import { NOTHING, placed, sceneOf, wantedOf } from "./scene.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {import("./select.js").Selection} Selection
 * @typedef {import("./scene.js").Scene} Scene
 */

const EDGE = 20;
const MOST_PIXELS = 8000;
const FOCUS_KEYS = ["data-head", "data-fold", "data-more", "data-process", "data-number"];

export class Picture {
  /** @param {Model} model @param {string} layout the layout as a script */
  constructor(model, layout) {
    this.model = model;
    this.scene = NOTHING;
    this.subject = "";
    this.large = false;
    /** @type {Map<string, {x: number, y: number}>} */
    this.before = new Map();
    this.layouts = new Layouts(layout);
    this.camera = new Camera(byId("stage"), byId("minimap"), () => this.moved());
    window.addEventListener("resize", () => this.moved());
    this.paper = window.matchMedia("print");
    this.paper.addEventListener("change", () => this.moved());
  }

  /** Draw the selection; cards that were drawn for the same subject keep their places.
   * @param {State} state @param {Selection | null} selection @param {number | null} at @param {Map<string, string>} changes */
  draw(state, selection, at, changes) {
    const { model } = this;
    const subject = `${state.asset}\n${state.column}`;
    const isSame = subject === this.subject;
    const focus = this.focusKey();
    const changeOf = (/** @type {string} */ id) => {
      const [from, to, kind] = id.split(">");
      return changes.get(kind === undefined ? id : `${from}>${to}>${kind === "condition" ? kind : "value"}`) ?? "";
    };
    const scene = selection ? sceneOf(model, state, selection, at, changeOf) : { ...NOTHING };
    this.subject = subject;
    byId("stage").setAttribute("aria-busy", "true");
    this.layouts.ask(wantedOf(model, scene, isSame ? this.before : new Map()), (places) => {
      this.show(placed(model, scene, places), isSame);
      this.refocus(focus);
    });
  }

  /** @param {Scene} scene @param {boolean} isSame whether its subject is the previous one */
  show(scene, isSame) {
    const anchor = isSame ? this.scene.cards.find((card) => card.subject) : undefined;
    this.scene = scene;
    this.camera.scene = scene;
    this.before = new Map(scene.cards.map((card) => [card.id, { x: card.x, y: card.y }]));
    this.large = scene.cards.length > MAX_SVG_CARDS;
    byId("tools").toggleAttribute("hidden", !scene.cards.length);
    byId("picture").toggleAttribute("hidden", this.large);
    byId("canvas").hidden = !this.large;
    if (this.large) byId("layer").replaceChildren();
    else drawn(byId("layer"), this.model, scene);
    const now = scene.cards.find((card) => card.subject);
    if (anchor && now) this.camera.pan((anchor.x - now.x) * this.camera.place.scale, (anchor.y - now.y) * this.camera.place.scale);
    else this.camera.fit();
    byId("stage").setAttribute("aria-busy", "false");
  }

  moved() {
    const { x, y, scale } = this.camera.place;
    byId("layer").setAttribute("transform", this.paper.matches ? "" : `translate(${x} ${y}) scale(${scale})`);
    if (this.paper.matches) byId("picture").setAttribute("viewBox", this.frame().join(" "));
    else byId("picture").removeAttribute("viewBox");
    if (this.large) painted(byId("canvas"), this.scene, this.camera.place);
    this.camera.map();
  }

  /** Left, top, width and height of the whole picture. */
  frame() {
    return [-EDGE, -EDGE, this.scene.width + 2 * EDGE, this.scene.height + 2 * EDGE];
  }

  /** Return the picture as PNG: the whole of it, or of a large one what the window shows. @returns {Promise<Blob | null>} */
  async png() {
    const canvas = this.large ? byId("canvas") : await this.copied();
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  }

  /** A canvas with the SVG and its styles. */
  async copied() {
    const [left, top, width, height] = this.frame();
    const factor = Math.min(2, MOST_PIXELS / Math.max(width, height));
    const copy = /** @type {SVGElement} */ (byId("picture").cloneNode(true));
    const sizes = { xmlns: "http://www.w3.org/2000/svg", viewBox: [left, top, width, height].join(" "), width: width * factor, height: height * factor };
    for (const [name, value] of Object.entries(sizes)) copy.setAttribute(name, String(value));
    copy.querySelector("#layer")?.removeAttribute("transform");
    copy.prepend(svg("rect", { x: left, y: top, width, height, class: "paper" }));
    copy.prepend(svg("style", {}, document.createTextNode(document.querySelector("style")?.textContent ?? "")));
    const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    const image = new Image();
    image.src = address;
    await image.decode().finally(() => URL.revokeObjectURL(address));
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: width * factor, height: height * factor });
    canvas.getContext("2d")?.drawImage(image, 0, 0);
    return canvas;
  }

  /** Return the card under a point of a large picture, and its column. @param {MouseEvent} event */
  hit(event) {
    return hitOn(this.scene, this.camera.place, event.offsetX, event.offsetY);
  }

  /** Return the focused element's key, to focus it again after drawing. */
  focusKey() {
    const active = document.activeElement;
    if (!active || !byId("picture").contains(active)) return null;
    const name = FOCUS_KEYS.find((each) => active.hasAttribute(each));
    return name ? { name, value: active.getAttribute(name) ?? "" } : null;
  }

  /** @param {{name: string, value: string} | null} key */
  refocus(key) {
    if (!key) return;
    const found = [...byId("picture").querySelectorAll(`[${key.name}]`)].find((each) => each.getAttribute(key.name) === key.value);
    /** @type {HTMLElement | undefined} */ (found)?.focus();
  }
}
