// The picture as values: cards with their rows, and curves between them. draw.js and canvas.js show it.

import { placeBadges } from "./curves.js";
import { CARD_WIDTH, HEAD_HEIGHT, NARROW_GAP, ROW_HEIGHT, WIDE_GAP } from "./layout.js";
import { neighbours } from "./select.js";
import { KIND_WORDS, TEXTS } from "./texts.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {import("./select.js").Selection} Selection
 * @typedef {{column: number, name: string, subject: boolean, unknown: boolean, constant: boolean, tags: string[]}} Row
 * @typedef {{id: string, dataset: number, depth: number, x: number, y: number, height: number, title: string,
 *   subtitle: string, rows: Row[], hiddenRows: number, allRows: number, open: boolean, subject: boolean,
 *   placeholder: boolean, health: string, unresolved: string[], hiddenUp: number, hiddenDown: number, allUp: number,
 *   allDown: number, conditions: number[], failedTests: number}} Card
 * @typedef {{id: string, from: string, to: string, kind: string, masked: boolean, parsed: boolean, processes: number[],
 *   change: string, x1: number, y1: number, x2: number, y2: number, label: string, text: string, at: number}} Curve
 * @typedef {{cards: Card[], curves: Curve[], width: number, height: number}} Scene
 * @typedef {import("./layout.js").Wanted} Wanted
 * @typedef {import("./layout.js").Places} Places
 */

const MAX_ROWS = 15;
export const MAX_LABELS = 80;

/** @type {Scene} */
export const NOTHING = { cards: [], curves: [], width: 0, height: 0 };

/** The cards and curves, not placed yet. @param {Model} model @param {State} state @param {Selection} selection
 * @param {number | null} at @param {(link: string) => string} changeOf @returns {Scene} */
export function sceneOf(model, state, selection, at, changeOf) {
  const subject = model.byName.get(state.asset);
  const followed = subject === undefined ? undefined : model.column(subject, state.column);
  const unknown = model.unknown(at);
  const opened = new Set(state.open);
  /** @type {Map<number, Card>} */
  const cards = new Map();
  for (const [number, depth] of [...selection.datasets].sort(([one], [other]) => one - other)) {
    const dataset = model.datasets[number];
    const own = (model.columnsOf.get(number) ?? []).filter((each) => model.columns[each].name);
    const isOpen = opened.has(dataset.qualified_name);
    const onTheWay = selection.columns;
    const all = (model.columnsOf.get(number) ?? []).filter((each) => onTheWay?.has(each) || (isOpen && (model.columns[each].name || state.conditions)));
    const shown = isOpen && all.length > MAX_ROWS && !opened.has(`*${dataset.qualified_name}`)
      ? all.filter((each, place) => place < MAX_ROWS || onTheWay?.has(each)) : all;
    cards.set(number, {
      id: String(number), dataset: number, depth, x: 0, y: 0, height: 0, title: dataset.name,
      subtitle: model.parentOf(number),
      rows: shown.map((each) => ({
        column: each, name: model.columns[each].name || TEXTS.allRows, subject: each === followed,
        unknown: unknown.has(each), constant: model.columns[each].constant, tags: model.tags.get(each) ?? [],
      })),
      hiddenRows: own.length - shown.filter((each) => model.columns[each].name).length, allRows: own.length,
      open: isOpen, subject: number === subject, placeholder: dataset.placeholder ?? false,
      failedTests: (model.failedTests.get(number) ?? []).length, health: healthOf(model, number, at), unresolved: model.unresolved(number, at),
      ...hiddenAround(model, number, selection, at),
      conditions: [...new Set(model.conditions(number, at).map((each) => model.edges[each].input))],
    });
  }
  const curves = state.column ? columnCurves(model, selection) : mixedCurves(model, selection);
  for (const curve of curves) {
    curve.change = changeOf(curve.id);
    curve.text = textOf(curve);
  }
  for (const card of cards.values()) {
    card.height = HEAD_HEIGHT + ROW_HEIGHT * (card.rows.length + (card.allRows ? 1 : 0));
  }
  return { cards: [...cards.values()], curves, width: 0, height: 0 };
}

/** Return the text of a curve's badge. @param {Curve} curve */
function textOf(curve) {
  const word = curve.kind === "table" || curve.kind === "identity" ? "" : KIND_WORDS[curve.kind];
  const change = curve.change ? TEXTS[/** @type {"added"} */ (curve.change)] : "";
  return [word, change, curve.processes.length > 1 ? `×${curve.processes.length}` : ""].filter(Boolean).join(" ");
}

/** Return the layout's input; cards with a place `before` keep their order. @param {Model} model @param {Scene} scene
 * @param {Map<string, {x: number, y: number}>} before @returns {Wanted} */
export function wantedOf(model, scene, before) {
  return {
    heights: new Map(scene.cards.map((card) => [card.id, card.height])),
    arrows: scene.curves.map((curve) => [cardOf(model, curve.from), cardOf(model, curve.to)]),
    gap: scene.curves.some((curve) => curve.kind !== "table") ? WIDE_GAP : NARROW_GAP,
    before,
  };
}

/** @param {Model} model @param {string} end */
function cardOf(model, end) {
  return end.startsWith("c") ? String(model.columns[columnOf(end)].dataset) : end.slice(1);
}

/** @param {string} end */
function columnOf(end) {
  return Number(end.slice(1));
}

/** Return the scene with its cards at these places. @param {Model} model @param {Scene} scene @param {Places} places @returns {Scene} */
export function placed(model, scene, places) {
  const { cards: list, curves } = scene;
  for (const card of list) Object.assign(card, places.get(card.id));
  const cards = new Map(list.map((card) => [card.id, card]));
  for (const curve of curves) {
    const [one, other] = [cards.get(cardOf(model, curve.from)), cards.get(cardOf(model, curve.to))];
    if (!one || !other) continue;
    const backwards = one.x >= other.x;
    curve.x1 = one.x + (backwards && one !== other ? 0 : CARD_WIDTH);
    curve.x2 = other.x + (backwards && one !== other ? CARD_WIDTH : 0);
    curve.y1 = portOf(one, curve.from);
    curve.y2 = portOf(other, curve.to);
  }
  if (curves.length <= MAX_LABELS) placeBadges(curves);
  return {
    cards: list, curves,
    width: Math.max(0, ...list.map((card) => card.x + CARD_WIDTH)),
    height: Math.max(0, ...list.map((card) => card.y + card.height)),
  };
}

/** @param {Card} card @param {string} end */
function portOf(card, end) {
  const row = end.startsWith("c") ? card.rows.findIndex((each) => each.column === columnOf(end)) : -1;
  return card.y + (row < 0 ? HEAD_HEIGHT / 2 : HEAD_HEIGHT + ROW_HEIGHT * (row + 0.5));
}

/** Return the worst state of the processes into a data set. @param {Model} model @param {number} dataset @param {number | null} at */
function healthOf(model, dataset, at) {
  const states = (model.flowsIn.get(dataset) ?? [])
    .filter((number) => model.valid(model.flows[number], at))
    .map((number) => model.processes[model.flows[number].process].health ?? "good");
  return ["failed", "overdue", "unended"].find((each) => states.includes(each)) ?? "good";
}

/** @param {Model} model @param {number} dataset @param {Selection} selection @param {number | null} at */
function hiddenAround(model, dataset, selection, at) {
  const up = neighbours(model, dataset, "up", at);
  const down = neighbours(model, dataset, "down", at);
  const hidden = (/** @type {number[]} */ list) => list.filter((each) => !selection.datasets.has(each)).length;
  return { hiddenUp: hidden(up), hiddenDown: hidden(down), allUp: up.length, allDown: down.length };
}

/** @param {string} id @param {string} from @param {string} to @returns {Curve} */
function curveOf(id, from, to) {
  return { id, from, to, kind: "table", masked: false, parsed: false, processes: [], change: "", x1: 0, y1: 0, x2: 0, y2: 0, label: "", text: "", at: 0.5 };
}

/** Return one curve for each pair of columns and kind. @param {Model} model @param {Selection} selection */
function columnCurves(model, selection) {
  /** @type {Map<string, Curve>} */
  const found = new Map();
  for (const number of [...selection.edges].sort((one, other) => one - other)) {
    const edge = model.edges[number];
    const id = `${edge.input}>${edge.output}>${edge.kind}`;
    const curve = found.get(id) ?? curveOf(id, `c${edge.input}`, `c${edge.output}`);
    curve.kind = edge.kind;
    curve.masked ||= edge.masked;
    curve.parsed ||= edge.parsed;
    curve.label ||= edge.description;
    if (!curve.processes.includes(edge.process)) curve.processes.push(edge.process);
    found.set(id, curve);
  }
  return [...found.values()];
}

/** Return curves between columns of open cards, and between the other cards. @param {Model} model @param {Selection} selection */
function mixedCurves(model, selection) {
  const curves = columnCurves(model, selection);
  const linked = new Set(curves.map((curve) => {
    const [one, other] = [curve.from, curve.to].map((end) => model.columns[Number(end.slice(1))].dataset);
    return `${one}>${other}`;
  }));
  /** @type {Map<string, Curve>} */
  const found = new Map();
  for (const number of [...selection.flows].sort((one, other) => one - other)) {
    const flow = model.flows[number];
    const id = `${flow.input}>${flow.output}`;
    if (linked.has(id)) continue;
    const curve = found.get(id) ?? curveOf(id, `d${flow.input}`, `d${flow.output}`);
    if (!curve.processes.includes(flow.process)) curve.processes.push(flow.process);
    found.set(id, curve);
  }
  return [...curves, ...found.values()];
}
