// The picture: the cards and curves of a selection, as SVG or on a canvas, seen by the camera.

import { Camera } from "./camera.js";
import { MAX_SVG_CARDS, hitOn, painted } from "./canvas.js";
import { drawn } from "./draw.js";
import { byId } from "./elements.js";
import { Layouts } from "./layouts.js";
import { NOTHING, placed, sceneOf, wantedOf } from "./scene.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {import("./select.js").Selection} Selection
 * @typedef {import("./scene.js").Scene} Scene
 */

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
    for (const id of ["tools", "minimap"]) byId(id).toggleAttribute("hidden", !scene.cards.length);
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
    byId("layer").setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    if (this.large) painted(byId("canvas"), this.scene, this.camera.place);
    this.camera.map();
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
