// The scene as SVG: every card, column, process and button is accessible by keyboard and has a name.

import { pathOf, pointOn } from "./curves.js";
import { CARD_WIDTH, HEAD_HEIGHT, ROW_HEIGHT } from "./layout.js";
import { MAX_LABELS } from "./scene.js";
import { HEALTH_WORDS, KIND_MEANINGS, KIND_WORDS, TEXTS } from "./texts.js";
import { attribute, lines, shown, visible } from "./visible.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Card} Card
 * @typedef {import("./scene.js").Curve} Curve
 */

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 27;

/** Make an element with attributes and children; text is always text, never markup.
 * @param {string} name @param {Record<string, string | number | undefined>} attributes @param {(Node | string)[]} children
 * @returns {SVGElement} */
export function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, attribute(key, value));
  made.append(...shown(children));
  return made;
}

/** @param {string} text @param {number} most */
export function shortened(text, most) {
  const signs = [...visible(text)];
  return signs.length <= most ? signs.join("") : `${signs.slice(0, most - 1).join("")}…`;
}

/** Return the readable name of an end of a curve. @param {Model} model @param {string} end */
function endName(model, end) {
  if (end.startsWith("d")) return model.datasets[Number(end.slice(1))].qualified_name;
  const column = model.columns[Number(end.slice(1))];
  return `${model.datasets[column.dataset].qualified_name}\n${column.name}`;
}

/** @param {SVGElement} layer @param {Model} model @param {Scene} scene */
export function drawn(layer, model, scene) {
  const labels = scene.curves.length <= MAX_LABELS;
  layer.replaceChildren(
    svg("g", { class: "curves" }, ...scene.curves.map((curve) => curveElement(model, curve, labels))),
    svg("g", { class: "cards" }, ...scene.cards.map((card) => cardElement(model, card))),
  );
}

/** @param {Model} model @param {Curve} curve @param {boolean} labels */
function curveElement(model, curve, labels) {
  const word = curve.kind === "table" ? "" : KIND_WORDS[curve.kind];
  const processes = curve.processes.map((number) => model.processes[number]);
  const bound = curve.kind === "opaque" ? KIND_MEANINGS.opaque : "";
  const title = [word, bound, curve.parsed ? TEXTS.parsed : "", curve.label, ...processes.map((each) => each.name)].filter(Boolean);
  const group = svg("g", {
    class: `curve kind-${curve.kind} ${curve.change}`.trim(), "data-edge": curve.id, "data-from": endName(model, curve.from),
    "data-to": endName(model, curve.to), "data-kind": curve.kind, "data-masked": String(curve.masked),
  }, svg("path", { class: "line", d: pathOf(curve) }), svg("title", {}, lines(title)));
  if (!labels) return group;
  const [x, y] = pointOn(curve, curve.at);
  const first = processes[0];
  const states = processes.map((each) => each.health ?? "good");
  const health = ["failed", "overdue", "unended"].find((each) => states.includes(each)) ?? "good";
  const { text } = curve;
  const badge = svg("g", {
    class: `badge health-${health}`, transform: `translate(${x} ${y})`, tabindex: 0, role: "button",
    "data-process": first?.qualified_name ?? "",
    "aria-label": named(text, TEXTS.process, ...processes.map((each) => each.name), HEALTH_WORDS[health] ?? "", bound),
  }, shapeOf(curve.kind));
  if (text) badge.append(svg("text", { x: 9, y: 4 }, text));
  group.append(badge);
  return group;
}

/** Return the name of a button: first the visible text, which people speak to their computer, then the rest (WCAG 2.5.3).
 * @param {string[]} texts */
function named(...texts) {
  return texts.filter(Boolean).join(" ");
}

/** Return how curves of a kind look, for a legend. @param {string} kind */
export function signOf(kind) {
  return svg("svg", { width: 48, height: 16, viewBox: "-24 -8 48 16", "aria-hidden": "true" }, svg("g", { class: `curve kind-${kind}` },
    svg("path", { class: "line", d: "M-24 0H24" }), svg("g", { class: "badge" }, shapeOf(kind))));
}

/** Return the shape of a kind, so that colour is not the only difference. @param {string} kind */
function shapeOf(kind) {
  if (kind === "transformation") return svg("path", { class: "shape", d: "M0 -6L6 0L0 6L-6 0Z" });
  if (kind === "aggregation") return svg("path", { class: "shape", d: "M-6 -5H6L0 6Z" });
  if (kind === "mask") return svg("rect", { class: "shape", x: -6, y: -6, width: 12, height: 12 });
  if (kind === "opaque") return svg("path", { class: "shape", d: "M-6 -6H6V6H-6ZM-6 6L6 -6" });
  if (kind === "condition") return svg("path", { class: "shape", d: "M-5 0H5M0 -5V5" });
  return svg("circle", { class: "shape", r: 5 });
}

/** @param {Model} model @param {Card} card */
function cardElement(model, card) {
  const dataset = model.datasets[card.dataset];
  const words = [
    card.placeholder ? TEXTS.placeholder : "", HEALTH_WORDS[card.health] ?? "", card.unresolved.length ? TEXTS.unresolved : "",
    card.failedTests ? `${TEXTS.failedTests}: ${card.failedTests}` : "",
  ].filter(Boolean);
  const [title, subtitle] = [shortened(dataset.name, WIDE), subtitleOf(card)];
  const group = svg("g", {
    class: ["card", card.subject ? "subject" : "", card.placeholder ? "placeholder" : "", `health-${card.health}`].join(" "),
    transform: `translate(${card.x} ${card.y})`, "data-dataset": dataset.qualified_name, "data-depth": card.depth,
  });
  group.append(
    svg("rect", { class: "box", width: CARD_WIDTH, height: card.height, rx: 8 }),
    svg("g", { class: "head", tabindex: 0, role: "button", "data-head": dataset.qualified_name, "aria-label": named(title, subtitle, title === visible(dataset.name) ? "" : dataset.name, ...words) },
      svg("rect", { class: "hit", width: CARD_WIDTH, height: HEAD_HEIGHT, rx: 8 }),
      svg("text", { class: "title", x: 12, y: 20 }, title), " ",
      svg("text", { class: "subtitle", x: 12, y: 36 }, subtitle),
      svg("title", {}, lines([dataset.qualified_name, ...words]))),
  );
  if (card.conditions.length) {
    const names = card.conditions.map((each) => `${model.datasets[model.columns[each].dataset].name}.${model.columns[each].name}`);
    group.append(svg("g", { class: "conditions", transform: `translate(${CARD_WIDTH - 40} 8)` },
      svg("rect", { width: 32, height: 16, rx: 8 }), svg("text", { x: 16, y: 12, "text-anchor": "middle" }, `if ${card.conditions.length}`),
      svg("title", {}, lines([TEXTS.rowsDependOn, ...names]))));
  }
  if (card.failedTests) {
    group.append(svg("g", { class: "failed-tests", transform: `translate(${CARD_WIDTH - 46} 28)` },
      svg("rect", { width: 38, height: 15, rx: 7 }), svg("text", { x: 19, y: 11, "text-anchor": "middle" }, `✗ ${card.failedTests}`),
      svg("title", {}, `${TEXTS.failedTests}: ${card.failedTests}`)));
  }
  card.rows.forEach((row, place) => group.append(rowElement(model, row, HEAD_HEIGHT + place * ROW_HEIGHT)));
  if (card.allRows) group.append(foldElement(card, dataset.qualified_name));
  for (const [way, hidden, all] of /** @type {const} */ ([["<", card.hiddenUp, card.allUp], [">", card.hiddenDown, card.allDown]])) {
    if (hidden) group.append(moreElement(dataset.qualified_name, way, hidden, all));
  }
  if (card.unresolved.length) {
    group.append(svg("g", { class: "stub", transform: `translate(-30 ${card.height - 12})` },
      svg("path", { class: "line", d: "M0 0H30" }), svg("circle", { r: 9, cx: -4 }), svg("text", { x: -4, y: 4, "text-anchor": "middle" }, "?"),
      svg("title", {}, `${TEXTS.unresolved}: ${card.unresolved.join(", ")}`)));
  }
  return group;
}

/** @param {Card} card */
function subtitleOf(card) {
  const words = [HEALTH_WORDS[card.health] ?? "", card.failedTests ? TEXTS.failedTests.toLowerCase() : "", card.placeholder ? TEXTS.placeholder : ""].filter(Boolean).join(" · ");
  const room = WIDE + (card.failedTests ? 1 : 8) - words.length - (words ? 3 : 0);
  const signs = [...visible(card.subtitle)];
  const path = signs.length <= room ? signs.join("") : `…${signs.slice(signs.length - room + 1).join("")}`;
  return words && room > 5 ? `${words} · ${path}` : words || path;
}

/** @param {Model} model @param {Card["rows"][number]} row @param {number} y */
function rowElement(model, row, y) {
  const mark = row.unknown ? "?" : row.constant ? "=" : "";
  const note = row.unknown ? TEXTS.unknownSource : row.constant ? TEXTS.constant : "";
  const text = shortened(row.name, row.tags.length ? WIDE - 9 : WIDE);
  const tag = row.tags.length ? shortened(row.tags[0], 9) : "";
  const group = svg("g", {
    class: ["row", row.subject ? "subject" : "", row.unknown ? "unknown" : ""].join(" "), transform: `translate(0 ${y})`,
    tabindex: 0, role: "button", "data-column": model.columns[row.column].name, "data-number": row.column,
    "aria-label": named(text, mark, tag, TEXTS.column, text === visible(row.name) ? "" : row.name, note, ...row.tags.slice(1)),
  }, svg("rect", { class: "hit", width: CARD_WIDTH, height: ROW_HEIGHT }),
  svg("text", { x: 12, y: 15 }, text), svg("title", {}, lines([row.name, note, ...row.tags].filter(Boolean))));
  if (mark) group.append(svg("text", { class: "mark", x: CARD_WIDTH - 16, y: 15 }, mark));
  if (tag) group.append(svg("text", { class: "tag", x: CARD_WIDTH - 22, y: 15, "text-anchor": "end" }, tag));
  return group;
}

/** @param {Card} card @param {string} name */
function foldElement(card, name) {
  const y = HEAD_HEIGHT + card.rows.length * ROW_HEIGHT;
  const words = card.hiddenRows ? `+${card.hiddenRows} of ${card.allRows} ${TEXTS.columns.toLowerCase()}` : TEXTS.hideColumns;
  return svg("g", { class: "fold", transform: `translate(0 ${y})`, tabindex: 0, role: "button", "data-fold": name,
    "aria-label": named(words, card.title) },
  svg("rect", { class: "hit", width: CARD_WIDTH, height: ROW_HEIGHT, rx: 8 }), svg("text", { x: 12, y: 15 }, words));
}

/** @param {string} name @param {"<" | ">"} way @param {number} hidden @param {number} all */
function moreElement(name, way, hidden, all) {
  const left = way === "<";
  const words = `+${hidden} of ${all}`;
  return svg("g", { class: "more", transform: `translate(${left ? -8 : CARD_WIDTH - 54} -14)`, tabindex: 0,
    role: "button", "data-more": `${way}${name}`, "aria-label": `${left ? TEXTS.upstream : TEXTS.downstream}: ${words}` },
  svg("rect", { class: "hit", width: 62, height: 20, rx: 10 }), svg("text", { x: 31, y: 14, "text-anchor": "middle" }, words));
}
