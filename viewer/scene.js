// The picture as values: cards with their rows, and curves between them. draw.js and canvas.js show it.

import { placeBadges } from "./curves.js";
import { CARD_WIDTH, HEAD_HEIGHT, NARROW_GAP, ROW_HEIGHT, WIDE_GAP } from "./layout.js";
import { neighbours } from "./select.js";
import { HEALTH_WORDS, TEXTS, moment, rowsOf, typeWord } from "./texts.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {import("./select.js").Selection} Selection
 * @typedef {{column: number, name: string, subject: boolean, unknown: boolean, constant: boolean, tags: string[]}} Row
 * @typedef {{id: string, dataset: number, depth: number, x: number, y: number, height: number, title: string,
 *   subtitle: string, rows: Row[], hiddenRows: number, allRows: number, open: boolean, subject: boolean,
 *   placeholder: boolean, health: string, note: string, unresolved: string[], hiddenUp: number, hiddenDown: number,
 *   allUp: number, allDown: number, conditions: number[], failedTests: number, hop: number}} Card `note`: its state, when
 *   it was written, and its owner; `hop`: its number of steps in a picture of an impact, else 0
 * @typedef {{id: string, from: string, to: string, kind: string, masked: boolean, parsed: boolean, processes: number[],
 *   foreign: boolean, change: string, x1: number, y1: number, x2: number, y2: number, label: string, text: string, at: number}} Curve
 * @typedef {{cards: Card[], curves: Curve[], width: number, height: number}} Scene
 * @typedef {import("./layout.js").Wanted} Wanted
 * @typedef {import("./layout.js").Places} Places
 */

const MAX_ROWS = 12;
/** Room for what stands beside a card. */
const BESIDE = 78;
export const MAX_LABELS = 80;

/** @type {Scene} */
export const NOTHING = { cards: [], curves: [], width: 0, height: 0 };

/** The cards and curves, not placed yet. @param {Model} model @param {State} state @param {Selection} selection
 * @param {number | null} at @param {(link: string) => string} changeOf @returns {Scene} */
export function sceneOf(model, state, selection, at, changeOf) {
  const subject = model.byName.get(state.asset);
  const followed = subject === undefined ? undefined : model.column(subject, state.column);
  const unknown = model.unknown(at);
  /** @type {Map<number, Card>} */
  const cards = new Map();
  for (const [number, depth] of [...selection.datasets].sort(([one], [other]) => one - other)) {
    const dataset = model.datasets[number];
    const own = (model.columnsOf.get(number) ?? []).filter((each) => model.columns[each].name);
    const isOpen = selection.opened.has(number);
    const onTheWay = selection.columns;
    const all = (model.columnsOf.get(number) ?? []).filter((each) => onTheWay?.has(each) || (isOpen && (model.columns[each].name || state.conditions)));
    const shown = isOpen && all.length > MAX_ROWS && !state.open.includes(`*${dataset.qualified_name}`)
      ? all.filter((each, place) => place < MAX_ROWS || onTheWay?.has(each)) : all;
    const health = model.healthOf(number, at);
    cards.set(number, {
      id: String(number), dataset: number, depth, x: 0, y: 0, height: 0, title: dataset.name,
      subtitle: model.parentOf(number),
      rows: shown.map((each) => ({
        column: each, name: model.columns[each].name || TEXTS.allRows, subject: each === followed,
        unknown: unknown.has(each), constant: model.columns[each].constant, tags: model.tags.get(each) ?? [],
      })),
      hiddenRows: own.length - shown.filter((each) => model.columns[each].name).length, allRows: own.length,
      open: isOpen, subject: number === subject, placeholder: dataset.placeholder ?? false,
      failedTests: (model.failedTests.get(number) ?? []).length, health, note: noteOf(model, number, health, at),
      hop: state.view === "impact" ? depth : 0, unresolved: model.unresolved(number, at),
      ...hiddenAround(model, state, number, selection, at),
      conditions: [...new Set(model.conditions(number, at).map((each) => model.edges[each].input))],
    });
  }
  const rows = new Set([...cards.values()].flatMap((card) => card.rows.map((row) => row.column)));
  const curves = state.column ? columnCurves(model, selection, rows) : mixedCurves(model, selection, rows);
  for (const curve of curves) {
    curve.change = changeOf(curve.id);
    curve.text = textOf(curve);
    curve.foreign = curve.processes.every((number) => model.processes[number].catalog_type);
  }
  for (const card of cards.values()) {
    card.height = HEAD_HEIGHT + ROW_HEIGHT * (card.rows.length + (card.allRows ? 1 : 0));
  }
  return { cards: [...cards.values()], curves, width: 0, height: 0 };
}

/** The state of a data set, when it was written last, and its owner; of one without all of them what it is.
 * @param {Model} model @param {number} number @param {string} health @param {number | null} at */
function noteOf(model, number, health, at) {
  const dataset = model.datasets[number];
  const written = model.writtenAt(number, at);
  const words = [HEALTH_WORDS[health] ?? "", dataset.placeholder ? TEXTS.placeholder : "",
    written === null ? "" : `${TEXTS.written} ${moment(written).slice(0, 10)}`, rowsOf(dataset), dataset.owner ?? ""];
  return words.filter(Boolean).join(" · ") || typeWord(dataset.type);
}

/** How a curve looks: as its kind, or between two tables as one that only the catalog knows. @param {Curve} curve */
export function lookOf(curve) {
  return curve.kind === "table" && curve.foreign ? "catalog" : curve.kind;
}

/** Return the text beside a curve's badge. @param {Curve} curve */
function textOf(curve) {
  const change = curve.change ? TEXTS[/** @type {"added"} */ (curve.change)] : "";
  return [change, curve.processes.length > 1 ? `×${curve.processes.length}` : ""].filter(Boolean).join(" ");
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
  if (list.some((card) => card.x === 0 && (card.hiddenUp || card.unresolved.length))) for (const card of list) card.x += BESIDE;
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
  if (curves.length <= MAX_LABELS) placeBadges(curves, list.flatMap(boxesOf));
  return {
    cards: list, curves,
    width: Math.max(0, ...list.map((card) => card.x + CARD_WIDTH + (card.hiddenDown ? BESIDE : 0))),
    height: Math.max(0, ...list.map((card) => card.y + card.height)),
  };
}

/** Where no badge may be: a card, and what stands beside it. @param {Card} card @returns {import("./curves.js").Box[]} */
function boxesOf({ x, y, height, hiddenUp, hiddenDown, unresolved }) {
  const right = x + CARD_WIDTH;
  return [
    { left: x, right, top: y, bottom: y + height },
    ...(hiddenUp ? [{ left: x - BESIDE, right: x, top: y, bottom: y + ROW_HEIGHT }] : []),
    ...(hiddenDown ? [{ left: right, right: right + BESIDE, top: y, bottom: y + ROW_HEIGHT }] : []),
    ...(unresolved.length ? [{ left: x - 44, right: x, top: y + height - ROW_HEIGHT, bottom: y + height }] : []),
  ];
}

/** @param {Card} card @param {string} end */
function portOf(card, end) {
  const row = end.startsWith("c") ? card.rows.findIndex((each) => each.column === columnOf(end)) : -1;
  return card.y + (row < 0 ? HEAD_HEIGHT / 2 : HEAD_HEIGHT + ROW_HEIGHT * (row + 0.5));
}

/** How many neighbours are not shown. @param {Model} model @param {State} state @param {number} dataset @param {Selection} selection
 * @param {number | null} at */
function hiddenAround(model, state, dataset, selection, at) {
  if (state.view === "impact") return { hiddenUp: 0, hiddenDown: 0, allUp: 0, allDown: 0 };
  const up = neighbours(model, dataset, "up", at);
  const down = neighbours(model, dataset, "down", at);
  const hidden = (/** @type {number[]} */ list) => list.filter((each) => !selection.datasets.has(each)).length;
  return { hiddenUp: hidden(up), hiddenDown: hidden(down), allUp: up.length, allDown: down.length };
}

/** @param {string} id @param {string} from @param {string} to @returns {Curve} */
function curveOf(id, from, to) {
  return { id, from, to, kind: "table", masked: false, parsed: false, processes: [], foreign: false, change: "", x1: 0, y1: 0, x2: 0, y2: 0, label: "", text: "", at: 0.5 };
}

/** Return one curve for each pair of columns that are shown, and kind. @param {Model} model @param {Selection} selection
 * @param {Set<number>} rows */
function columnCurves(model, selection, rows) {
  /** @type {Map<string, Curve>} */
  const found = new Map();
  for (const number of [...selection.edges].sort((one, other) => one - other)) {
    const edge = model.edges[number];
    if (!rows.has(edge.input) || !rows.has(edge.output)) continue;
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

/** Return curves between columns of open cards, and between the other cards. @param {Model} model @param {Selection} selection
 * @param {Set<number>} rows */
function mixedCurves(model, selection, rows) {
  const curves = columnCurves(model, selection, rows);
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
