// The picture as a tree of texts, for screen readers and for people who prefer lists (ARIA's tree pattern).

import { element } from "./elements.js";
import { KIND_WORDS, TEXTS } from "./texts.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./select.js").Selection} Selection
 */

/** @param {Model} model @param {Selection} selection @param {number} dataset @param {number | undefined} column
 * @param {(asset: string, column: string) => void} choose */
export function pathTree(model, selection, dataset, column, choose) {
  const tree = element("ul", { role: "tree", "aria-label": TEXTS.path });
  for (const [way, title, none] of /** @type {const} */ ([["up", TEXTS.upstream, TEXTS.nothingUpstream], ["down", TEXTS.downstream, TEXTS.nothingDownstream]])) {
    const branch = column === undefined ? datasetBranch(model, selection, dataset, way, new Set([dataset]))
      : columnBranch(model, selection, column, way, new Set([column]), new Set());
    tree.append(item(title, branch.length ? branch : [item(none, [], {})], {}));
  }
  const first = tree.querySelector("[role=treeitem]");
  if (first) first.setAttribute("tabindex", "0");
  tree.addEventListener("keydown", (event) => {
    if (event.key === "Enter") followed(event, choose);
    else moved(tree, event);
  });
  tree.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).tagName === "SPAN") followed(event, choose);
  });
  return tree;
}

/** @param {string} text @param {HTMLElement[]} children @param {Record<string, string>} attributes */
function item(text, children, attributes) {
  const made = element("li", { role: "treeitem", tabindex: -1, ...attributes, ...(children.length ? { "aria-expanded": "true" } : {}) }, element("span", {}, text));
  if (children.length) made.append(element("ul", { role: "group" }, ...children));
  return made;
}

/** @param {Model} model @param {Selection} selection @param {number} column @param {"up" | "down"} way @param {Set<number>} seen items
 * that the tree already has, whose branches are not repeated @param {Set<number>} rows data sets whose conditions it has
 * @returns {HTMLElement[]} */
function columnBranch(model, selection, column, way, seen, rows) {
  const links = (way === "up" ? model.edgesIn : model.edgesOut).get(column) ?? [];
  const found = new Map();
  for (const number of [...links, ...(way === "up" ? rowLinks(model, column, rows) : [])]) {
    if (!selection.edges.has(number)) continue;
    const edge = model.edges[number];
    const end = way === "up" ? edge.input : edge.output;
    const words = found.get(end) ?? new Set();
    found.set(end, words.add(wordsOf(edge, edge.output !== column && way === "up")));
  }
  return [...found].map(([end, words]) => {
    const own = model.columns[end];
    const dataset = model.datasets[own.dataset];
    const again = seen.has(end);
    seen.add(end);
    const beyond = again ? [] : columnBranch(model, selection, end, way, seen, rows);
    const note = again ? [...words, TEXTS.seeAbove] : [...words];
    return item(`${model.longName(own.dataset)}.${own.name || TEXTS.allRows} (${note.join("; ")})`, beyond,
      { "data-dataset": dataset.qualified_name, "data-column": own.name, title: dataset.qualified_name });
  });
}

/** Return the edges into all rows of a column's data set, the first time that one of its columns is visited.
 * @param {Model} model @param {number} column @param {Set<number>} rows */
function rowLinks(model, column, rows) {
  const { dataset } = model.columns[column];
  const all = rows.has(dataset) ? undefined : model.column(dataset, "");
  rows.add(dataset);
  return all === undefined || all === column ? [] : model.edgesIn.get(all) ?? [];
}

/** @param {import("./model.js").Edge} edge @param {boolean} ofRows */
function wordsOf(edge, ofRows) {
  const words = [KIND_WORDS[edge.kind], ofRows ? TEXTS.allRows : "", edge.parsed ? TEXTS.parsed : ""].filter(Boolean).join(", ");
  return edge.description ? `${words}: ${edge.description}` : words;
}

/** @param {Model} model @param {Selection} selection @param {number} dataset @param {"up" | "down"} way @param {Set<number>} seen the same
 * @returns {HTMLElement[]} */
function datasetBranch(model, selection, dataset, way, seen) {
  const links = (way === "up" ? model.flowsIn : model.flowsOut).get(dataset) ?? [];
  const found = new Map();
  for (const number of links) {
    if (!selection.flows.has(number)) continue;
    const flow = model.flows[number];
    const end = way === "up" ? flow.input : flow.output;
    const process = model.processes[flow.process];
    const words = [`${TEXTS.by} ${process.job || process.name}`, ...(process.operations ?? [])].join(", ");
    found.set(end, (found.get(end) ?? new Set()).add(words));
  }
  return [...found].map(([end, processes]) => {
    const again = seen.has(end);
    seen.add(end);
    const beyond = again ? [] : datasetBranch(model, selection, end, way, seen);
    const note = again ? [...processes, TEXTS.seeAbove] : [...processes];
    return item(`${model.longName(end)} (${note.join("; ")})`, beyond, { "data-dataset": model.datasets[end].qualified_name, title: model.datasets[end].qualified_name });
  });
}

/** Choose the data set or column of an item of the tree. @param {Event} event @param {(asset: string, column: string) => void} choose */
function followed(event, choose) {
  const named = /** @type {HTMLElement} */ (event.target).closest("[role=treeitem]");
  const asset = named?.getAttribute("data-dataset");
  if (!asset) return;
  event.preventDefault();
  event.stopPropagation();
  choose(asset, named?.getAttribute("data-column") ?? "");
}

/** Handle the keys of the tree pattern: up and down, left and right, Home and End. @param {HTMLElement} tree @param {KeyboardEvent} event */
function moved(tree, event) {
  const items = /** @type {HTMLElement[]} */ ([...tree.querySelectorAll("[role=treeitem]")].filter((each) => !each.parentElement?.closest("[aria-expanded=false]")));
  const now = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  if (now < 0) return;
  const here = items[now];
  const expanded = here.getAttribute("aria-expanded");
  let next = null;
  if (event.key === "ArrowDown") next = items[now + 1];
  else if (event.key === "ArrowUp") next = items[now - 1];
  else if (event.key === "Home") next = items[0];
  else if (event.key === "End") next = items[items.length - 1];
  else if (event.key === "ArrowRight" && expanded === "false") here.setAttribute("aria-expanded", "true");
  else if (event.key === "ArrowRight" && expanded === "true") next = items[now + 1];
  else if (event.key === "ArrowLeft" && expanded === "true") here.setAttribute("aria-expanded", "false");
  else if (event.key === "ArrowLeft") next = /** @type {HTMLElement | null} */ (here.parentElement?.closest("[role=treeitem]") ?? null);
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (!next) return;
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
