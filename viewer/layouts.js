// Places cards: a few at once, many in a worker, so that the page stays usable.

import { placedCards } from "./layout.js";

/**
 * @typedef {import("./layout.js").Wanted} Wanted
 * @typedef {import("./layout.js").Places} Places
 */

export const MAX_AT_ONCE = 200;

export class Layouts {
  /** @param {string} source the layout's own module as a script */
  constructor(source) {
    this.source = source;
    /** @type {Worker | null} */
    this.worker = null;
    this.asked = 0;
    /** @type {{wanted: Wanted, done: (places: Places) => void} | null} */
    this.last = null;
  }

  /** Call `done` with the places, unless another layout is requested before they are known.
   * @param {Wanted} wanted @param {(places: Places) => void} done */
  ask(wanted, done) {
    this.asked += 1;
    this.last = { wanted, done };
    const worker = wanted.heights.size > MAX_AT_ONCE ? this.started() : null;
    if (worker) worker.postMessage([this.asked, wanted]);
    else done(placedCards(wanted));
  }

  /** Return the worker; null in a browser that does not allow one. */
  started() {
    if (this.worker || !this.source) return this.worker;
    const answer = "\nonmessage = ({ data: [number, wanted] }) => postMessage([number, placedCards(wanted)]);";
    try {
      const address = URL.createObjectURL(new Blob([this.source, answer], { type: "text/javascript" }));
      this.worker = new Worker(address);
    } catch {
      this.source = "";
      return null;
    }
    this.worker.addEventListener("message", ({ data: [number, places] }) => {
      if (number === this.asked) this.last?.done(places);
    });
    this.worker.addEventListener("error", () => this.without());
    return this.worker;
  }

  /** Continue without the worker. */
  without() {
    this.worker?.terminate();
    this.worker = null;
    this.source = "";
    this.last?.done(placedCards(this.last.wanted));
  }
}
