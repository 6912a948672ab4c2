// The scene as SVG: every card, column, process and button is accessible by keyboard and has a name.

import { NO_PLACE, pathOf, pointOn } from "./curves.js";
import { CARD_WIDTH, HEAD_HEIGHT, ROW_HEIGHT } from "./layout.js";
import { fitted, widthOf } from "./measured.js";
import { MAX_LABELS, lookOf } from "./scene.js";
import { HEALTH_WORDS, KIND_MEANINGS, KIND_WORDS, TEXTS } from "./texts.js";
import { attribute, shown, visible } from "./visible.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Card} Card
 * @typedef {import("./scene.js").Curve} Curve
 */

const SVG = "http://www.w3.org/2000/svg";
const PADDING = 12;
const MARK = 16;
const TAG = 76;

/** Make an element with attributes and children; text is always text, never markup.
 * @param {string} name @param {Record<string, string | number | undefined>} attributes @param {(Node | string)[]} children
 * @returns {SVGElement} */
export function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, attribute(key, value));
  made.append(...shown(children));
  return made;
}

/** What is shown beside the part of a picture that the mouse or the focus is on. @param {(string | false)[]} texts one a line */
function tip(texts) {
  return [...new Set(texts)].filter((text) => text !== false && text !== "").map((text) => visible(String(text))).join("\n");
}

/** Return the readable name of an end of a curve. @param {Model} model @param {string} end */
function endName(model, end) {
  if (end.startsWith("d")) return model.datasets[Number(end.slice(1))].qualified_name;
  const column = model.columns[Number(end.slice(1))];
  return `${model.datasets[column.dataset].qualified_name}\n${column.name}`;
}

/** Lines lie behind cards, badges before them; the order is that of reading. @param {SVGElement} layer @param {Model} model @param {Scene} scene */
export function drawn(layer, model, scene) {
  const cards = [...scene.cards].sort((one, other) => one.x - other.x || one.y - other.y);
  const badges = scene.curves.length <= MAX_LABELS ? scene.curves.filter((curve) => curve.at !== NO_PLACE) : [];
  layer.replaceChildren(
    svg("g", { class: "curves" }, ...scene.curves.map((curve) => lineElement(model, curve))),
    svg("g", { class: "cards" }, ...cards.map((card) => cardElement(model, card))),
    svg("g", { class: "badges" }, ...badges.map((curve) => badgeElement(model, curve))),
  );
}

/** What a curve means: its kind, its expression, the processes that make it. @param {Model} model @param {Curve} curve */
function tipOf(model, curve) {
  const processes = curve.processes.map((number) => model.processes[number]);
  const word = KIND_WORDS[lookOf(curve)] ? `${KIND_WORDS[lookOf(curve)]}: ${KIND_MEANINGS[lookOf(curve)]}` : "";
  return tip([word, curve.change && TEXTS[/** @type {"added"} */ (curve.change)], curve.parsed && TEXTS.parsed, curve.label, processes.length > 1 && `${processes.length} ${TEXTS.processes}`,
    ...processes.flatMap((process) => [process.name, HEALTH_WORDS[process.health ?? ""] ?? ""])]);
}

/** @param {Model} model @param {Curve} curve */
function lineElement(model, curve) {
  const path = pathOf(curve);
  return svg("g", {
    class: `curve kind-${lookOf(curve)} ${curve.change}`.trim(), "data-edge": curve.id, "data-from": endName(model, curve.from),
    "data-to": endName(model, curve.to), "data-kind": curve.kind, "data-masked": String(curve.masked),
    "data-process": model.processes[curve.processes[0]]?.qualified_name, "data-tip": tipOf(model, curve),
  }, svg("path", { class: "line", d: path }), svg("path", { class: "near", d: path }));
}

/** @param {Model} model @param {Curve} curve */
function badgeElement(model, curve) {
  const [x, y] = pointOn(curve, curve.at);
  const processes = curve.processes.map((number) => model.processes[number]);
  const states = processes.map((process) => process.health ?? "good");
  const health = ["failed", "overdue", "unended"].find((state) => states.includes(/** @type {any} */ (state))) ?? "good";
  const badge = svg("g", {
    class: `badge kind-${lookOf(curve)} health-${health}`, transform: `translate(${x} ${y})`, tabindex: 0, role: "button",
    "data-badge": curve.kind, "data-process": processes[0]?.qualified_name ?? "", "data-tip": tipOf(model, curve),
    "aria-label": named(curve.text, TEXTS.process, KIND_WORDS[lookOf(curve)] ?? "", ...processes.map((process) => process.name),
      HEALTH_WORDS[health] ?? "", ["opaque", "catalog"].includes(lookOf(curve)) ? KIND_MEANINGS[lookOf(curve)] : ""),
  }, shapeOf(lookOf(curve)));
  if (curve.text) badge.append(svg("text", { x: 9, y: 4 }, curve.text));
  return badge;
}

/** Return the name of a button: first the visible text, which people speak to their computer, then the rest (WCAG 2.5.3).
 * @param {string[]} texts */
function named(...texts) {
  return texts.filter(Boolean).join(" ");
}

/** Return how curves of a kind look, for a legend. @param {string} kind */
export function signOf(kind) {
  return svg("svg", { width: 48, height: 16, viewBox: "-24 -8 48 16", "aria-hidden": "true" }, svg("g", { class: `curve kind-${kind}` },
    svg("path", { class: "line", d: "M-24 0H24" })), svg("g", { class: `badge kind-${kind}` }, shapeOf(kind)));
}

/** Return the shape of a kind, so that colour is not the only difference. @param {string} kind */
function shapeOf(kind) {
  if (kind === "transformation") return svg("path", { class: "shape", d: "M0 -6L6 0L0 6L-6 0Z" });
  if (kind === "aggregation") return svg("path", { class: "shape", d: "M-6 -5H6L0 6Z" });
  if (kind === "mask") return svg("rect", { class: "shape", x: -6, y: -6, width: 12, height: 12 });
  if (kind === "catalog") return svg("path", { class: "shape", d: "M-6 -3L0 -6L6 -3V3L0 6L-6 3Z" });
  if (kind === "opaque") return svg("path", { class: "shape", d: "M-6 -6H6V6H-6ZM-6 6L6 -6" });
  if (kind === "condition") return svg("path", { class: "shape", d: "M-5 0H5M0 -5V5" });
  return svg("circle", { class: "shape", r: 5 });
}

/** @param {Model} model @param {Card} card */
function cardElement(model, card) {
  const dataset = model.datasets[card.dataset];
  const room = CARD_WIDTH - 2 * PADDING;
  const title = fitted(dataset.name, card.conditions.length ? room - 36 : room, "title");
  const subtitle = fitted(card.subtitle, room, "small", true);
  const note = fitted(card.note, card.failedTests ? room - 42 : room, "small");
  const group = svg("g", {
    class: ["card", card.subject ? "subject" : "", card.placeholder ? "placeholder" : "", card.hop ? `hop hop-${Math.min(card.hop, 3)}` : "", `health-${card.health}`].filter(Boolean).join(" "),
    transform: `translate(${card.x} ${card.y})`, "data-dataset": dataset.qualified_name, "data-depth": card.depth,
  });
  const meaning = tip([dataset.qualified_name, card.hop > 0 && `${card.hop} ${TEXTS.steps}${card.hop > 1 ? "s" : ""} ${TEXTS.away}`, card.note,
    dataset.description ?? "", card.failedTests > 0 && `${TEXTS.failedTests}: ${card.failedTests}`]);
  group.append(
    svg("rect", { class: "box", width: CARD_WIDTH, height: card.height, rx: 8 }),
    svg("g", { class: "head", tabindex: 0, role: "button", "data-head": dataset.qualified_name, "data-tip": meaning,
      "aria-label": named(title, subtitle, note, title === visible(dataset.name) ? "" : dataset.name, card.unresolved.length ? TEXTS.unresolved : "") },
      svg("rect", { class: "hit", width: CARD_WIDTH, height: HEAD_HEIGHT, rx: 8 }),
      svg("text", { class: "title", x: PADDING, y: 21 }, title), " ",
      svg("text", { class: "subtitle", x: PADDING, y: 39 }, subtitle), " ",
      svg("text", { class: "note", x: PADDING, y: 56 }, note)),
  );
  if (card.conditions.length) {
    const names = card.conditions.map((number) => `${model.datasets[model.columns[number].dataset].name}.${model.columns[number].name}`);
    group.append(svg("g", { class: "conditions", transform: `translate(${CARD_WIDTH - 44} 8)`, "data-tip": tip([`${names.length} ${TEXTS.rowsDependOn}`, ...names]) },
      svg("rect", { width: 36, height: 17, rx: 8 }), svg("text", { x: 18, y: 13, "text-anchor": "middle" }, `if ${names.length}`)));
  }
  if (card.failedTests) {
    group.append(svg("g", { class: "failed-tests", transform: `translate(${CARD_WIDTH - 50} 44)`, "data-tip": `${TEXTS.failedTests}: ${card.failedTests}` },
      svg("rect", { width: 42, height: 16, rx: 7 }), svg("text", { x: 21, y: 12, "text-anchor": "middle" }, `✗ ${card.failedTests}`)));
  }
  card.rows.forEach((row, place) => group.append(rowElement(model, row, HEAD_HEIGHT + place * ROW_HEIGHT)));
  if (card.allRows) group.append(foldElement(card, dataset.qualified_name));
  for (const [way, hidden, all] of /** @type {const} */ ([["<", card.hiddenUp, card.allUp], [">", card.hiddenDown, card.allDown]])) {
    if (hidden) group.append(moreElement(dataset.qualified_name, way, hidden, all));
  }
  if (card.unresolved.length) {
    group.append(svg("g", { class: "stub", transform: `translate(-30 ${card.height - 12})`, "data-tip": tip([TEXTS.unresolved, ...card.unresolved]) },
      svg("path", { class: "line", d: "M0 0H30" }), svg("circle", { r: 9, cx: -4 }), svg("text", { x: -4, y: 4, "text-anchor": "middle" }, "?")));
  }
  return group;
}

/** @param {Model} model @param {Card["rows"][number]} row @param {number} y */
function rowElement(model, row, y) {
  const mark = row.unknown ? "?" : row.constant ? "=" : "";
  const meaning = row.unknown ? TEXTS.unknownSource : row.constant ? TEXTS.constant : "";
  const tag = row.tags.length ? fitted(row.tags[0], TAG - 12, "small") : "";
  const tagWidth = tag ? widthOf(tag, "small") + 12 : 0;
  const text = fitted(row.name, CARD_WIDTH - 2 * PADDING - (mark ? MARK : 0) - (tag ? tagWidth + 6 : 0), "text");
  const column = model.columns[row.column];
  const group = svg("g", {
    class: ["row", row.subject ? "subject" : "", row.unknown ? "unknown" : ""].join(" "), transform: `translate(0 ${y})`,
    tabindex: 0, role: "button", "data-column": column.name, "data-number": row.column, "data-tip": tip([row.name, column.type, meaning, ...row.tags]),
    "aria-label": named(text, tag, mark, TEXTS.column, text === visible(row.name) ? "" : row.name, meaning, ...row.tags.slice(1)),
  }, svg("rect", { class: "hit", width: CARD_WIDTH, height: ROW_HEIGHT }), svg("text", { x: PADDING, y: 15 }, text));
  const right = CARD_WIDTH - PADDING - (mark ? MARK : 0);
  if (tag) {
    group.append(" ", svg("rect", { class: "tag", x: right - tagWidth, y: 3, width: tagWidth, height: 16, rx: 8 }),
      svg("text", { class: "tag", x: right - tagWidth / 2, y: 15, "text-anchor": "middle" }, tag));
  }
  if (mark) group.append(" ", svg("text", { class: "mark", x: CARD_WIDTH - PADDING, y: 15, "text-anchor": "end" }, mark));
  return group;
}

/** @param {Card} card @param {string} name */
function foldElement(card, name) {
  const y = HEAD_HEIGHT + card.rows.length * ROW_HEIGHT;
  const words = card.hiddenRows ? `+${card.hiddenRows} of ${card.allRows} ${TEXTS.columns.toLowerCase()}` : TEXTS.hideColumns;
  return svg("g", { class: "fold", transform: `translate(0 ${y})`, tabindex: 0, role: "button", "data-fold": name,
    "aria-label": named(words, card.title) },
  svg("rect", { class: "hit", width: CARD_WIDTH, height: ROW_HEIGHT, rx: 8 }), svg("text", { x: PADDING, y: 15 }, words));
}

/** @param {string} name @param {"<" | ">"} way @param {number} hidden @param {number} all */
function moreElement(name, way, hidden, all) {
  const isLeft = way === "<";
  const words = `${hidden} ${TEXTS.more}`;
  const width = widthOf(words, "small") + 28;
  const meaning = `${isLeft ? TEXTS.upstream : TEXTS.downstream}: ${hidden} of ${all} ${TEXTS.notShown}`;
  return svg("g", { class: "more", transform: `translate(${isLeft ? -width - 4 : CARD_WIDTH + 4} 2)`, tabindex: 0,
    role: "button", "data-more": `${way}${name}`, "data-tip": meaning, "aria-label": named(words, meaning) },
  svg("rect", { class: "hit", width, height: 20, rx: 10 }), svg("text", { x: isLeft ? 20 : 8, y: 14 }, words),
  svg("path", { class: "arrow", d: isLeft ? "M15 10H7M10 6L6 10L10 14" : `M${width - 15} 10h8m-3 -4l4 4l-4 4` }));
}
