// Find tables and columns by parts of their names, by the rules of shared/lineage/search_index.py.

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {{dataset: number, column: number | null, rank: number}} Found
 */

const MAX_RESULTS = 40;
const EXACT = 0;
const PREFIX = 1;
const WORD = 2;
const INSIDE = 3;
const PATH = 4;
const FUZZY = 5;

/** Return the rank of a name for a text, both in lower case; null when it does not match. @param {string} name @param {string} text */
export function rankOf(name, text) {
  const at = name.indexOf(text);
  if (at === 0) return name.length === text.length ? EXACT : PREFIX;
  if (at > 0) return /[^a-z0-9]/.test(name[at - 1]) ? WORD : INSIDE;
  return null;
}

/** Whether the name contains the characters of the text in this order, close together. @param {string} name @param {string} text */
export function isAlike(name, text) {
  if (text.length < 3 || name.length > 200) return false;
  let at = -1;
  let first = -1;
  for (const sign of text) {
    at = name.indexOf(sign, at + 1);
    if (at < 0) return false;
    if (first < 0) first = at;
  }
  return at - first < text.length * 3;
}

export class SearchIndex {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.datasetNames = model.datasets.map((each) => each.name.toLowerCase());
    this.paths = model.datasets.map((each) => each.qualified_name.toLowerCase());
    this.columnNames = model.columns.map((each) => each.name.toLowerCase());
  }

  /** Return the best results, the best first. Words after the first must be in the path or the column. @param {string} text
   * @returns {Found[]} */
  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const parts = words.length === 1 ? words[0].split(".") : [];
    const found = parts.length === 2 && parts[0] ? this.ofTable(parts[0], parts[1]) : [];
    const last = words[words.length - 1];
    const others = words.slice(0, -1);
    this.datasetNames.forEach((name, number) => {
      const rank = rankOf(name, last) ?? (this.paths[number].includes(last) ? PATH : null);
      if (rank !== null && others.every((word) => this.paths[number].includes(word))) {
        found.push({ dataset: number, column: null, rank });
      }
    });
    this.columnNames.forEach((name, number) => {
      const rank = name ? rankOf(name, last) : null;
      if (rank === null) return;
      const own = this.model.columns[number].dataset;
      if (others.every((word) => this.paths[own].includes(word))) found.push({ dataset: own, column: number, rank: rank + 0.5 });
    });
    if (!found.length) this.addAlike(last, found);
    return found.sort((one, other) => one.rank - other.rank || this.compared(one, other)).slice(0, MAX_RESULTS);
  }

  /** Columns of tables: `orders.am`. @param {string} table @param {string} column @returns {Found[]} */
  ofTable(table, column) {
    /** @type {Found[]} */
    const found = [];
    this.datasetNames.forEach((name, dataset) => {
      const rank = rankOf(name, table);
      if (rank === null) return;
      for (const number of this.model.columnsOf.get(dataset) ?? []) {
        const own = this.columnNames[number];
        const fit = own ? rankOf(own, column) : null;
        if (fit !== null) found.push({ dataset, column: number, rank: Math.max(rank, fit) / 10 });
      }
    });
    return found;
  }

  /** @param {string} text @param {Found[]} found */
  addAlike(text, found) {
    this.datasetNames.forEach((name, number) => {
      if (isAlike(name, text)) found.push({ dataset: number, column: null, rank: FUZZY });
    });
    this.columnNames.forEach((name, number) => {
      if (isAlike(name, text)) found.push({ dataset: this.model.columns[number].dataset, column: number, rank: FUZZY + 0.5 });
    });
  }

  /** Compare results: shorter names first, then by name and number, so that the order is deterministic. @param {Found} one @param {Found} other */
  compared(one, other) {
    const [first, second] = [this.nameOf(one), this.nameOf(other)];
    return first.length - second.length || (first < second ? -1 : first > second ? 1 : 0) ||
      one.dataset - other.dataset || (one.column ?? -1) - (other.column ?? -1);
  }

  /** @param {Found} found */
  nameOf(found) {
    return found.column === null ? this.datasetNames[found.dataset] : this.columnNames[found.column];
  }
}
