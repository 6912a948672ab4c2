// Favourites and the data sets chosen last: kept in this browser, and never in the address, which people send to others.

const STORAGE_KEY = "throughline";
const MOST_KEPT = 8;

/** @typedef {{stars: string[], recent: string[]}} Lists names of data sets, the last chosen first */

export class Favourites {
  constructor() {
    /** @type {Lists} */
    this.lists = { stars: [], recent: [] };
    try {
      const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
      for (const name of /** @type {const} */ (["stars", "recent"])) {
        if (Array.isArray(stored[name])) this.lists[name] = stored[name].filter((/** @type {unknown} */ item) => typeof item === "string");
      }
    } catch { /* the browser keeps nothing for this page, or something else wrote there: the lists begin empty */ }
  }

  /** Add a data set to the favourites, or remove it. @param {string} name */
  toggle(name) {
    const { stars } = this.lists;
    this.keep({ stars: stars.includes(name) ? stars.filter((item) => item !== name) : [...stars, name] });
  }

  /** Note that a data set was chosen. @param {string} name */
  note(name) {
    this.keep({ recent: [name, ...this.lists.recent.filter((item) => item !== name)].slice(0, MOST_KEPT) });
  }

  /** @param {Partial<Lists>} part */
  keep(part) {
    Object.assign(this.lists, part);
    try {
      localStorage.setItem(STORAGE_KEY, JSON.stringify(this.lists));
    } catch { /* a browser that keeps nothing: the lists last as long as the page */ }
  }
}
