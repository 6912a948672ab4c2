// All data as a table: what there is, the newest first, by state, tag, owner and name; and the newest changes.

import { button, element } from "./elements.js";
import { nameLink } from "./panels.js";
import { HEALTH_WORDS, TEXTS, moment, rowsOf, timeInAddress, typeWord } from "./texts.js";

/**
 * @typedef {import("./panels.js").View} View
 * @typedef {import("./model.js").Summary} Summary
 */

const MOST_ROWS = 200;
const MOST_TAGS = 4;
const MOST_CHANGES = 5;

/** What a button of the overview leaves over. @type {Record<string, {text: string, has: (summary: Summary) => boolean}>} */
const ONLY = {
  failed: { text: TEXTS.onlyFailed, has: (summary) => summary.health === "failed" || summary.failedTests > 0 },
  late: { text: TEXTS.onlyLate, has: (summary) => summary.health === "overdue" || summary.health === "unended" },
  unknown: { text: TEXTS.onlyUnknown, has: (summary) => summary.unknown > 0 },
  masked: { text: TEXTS.onlyMasked, has: (summary) => summary.masked > 0 },
  tagged: { text: TEXTS.onlyTagged, has: (summary) => summary.tags.length > 0 },
  unscanned: { text: TEXTS.placeholder, has: (summary) => summary.placeholder },
};

/** @type {Record<string, {text: string, order: (one: Summary, other: Summary) => number}>} */
const SORTS = {
  newest: { text: TEXTS.newest, order: (one, other) => (other.written ?? 0) - (one.written ?? 0) || other.readers - one.readers },
  used: { text: TEXTS.mostRead, order: (one, other) => other.readers - one.readers || (other.written ?? 0) - (one.written ?? 0) },
  name: { text: TEXTS.byName, order: () => 0 },
};

/** @param {View} view @returns {Node[]} */
export function overview(view) {
  const { model, state, actions, at } = view;
  if (model.isHasty(at)) {
    setTimeout(() => {
      model.unknown(at);
      actions.change({}, true);
    });
  }
  const summaries = model.summaries(at);
  const change = (/** @type {object} */ part) => actions.change(part, true);
  const tiles = Object.entries(ONLY).map(([name, { text, has }]) => {
    const number = summaries.filter(has).length;
    return number ? [button(`${number} ${text}`, () => change({ only: state.only === name ? "" : name }), { "aria-pressed": String(state.only === name), "data-only": name })] : [];
  }).flat();
  const filter = element("input", { id: "filter", type: "search", "aria-label": TEXTS.filter, placeholder: TEXTS.filter, spellcheck: "false", value: state.text });
  filter.addEventListener("input", () => change({ text: /** @type {HTMLInputElement} */ (filter).value }));
  const names = (/** @type {(summary: Summary) => string[]} */ of) => [...new Set(summaries.flatMap(of))].filter(Boolean).sort();
  const choices = [
    chosenFrom("tag", TEXTS.anyTag, names((summary) => summary.tags).map((name) => [name, name]), state.tag, change),
    chosenFrom("owner", TEXTS.anyOwner, names((summary) => [summary.owner]).map((name) => [name, name]), state.owner, change),
    chosenFrom("sort", "", Object.entries(SORTS).map(([name, { text }]) => [name, text]), state.sort, change),
  ].flat();
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const { has } = ONLY[state.only] ?? { has: () => true };
  const rows = summaries.filter((summary) => has(summary) && (!state.tag || summary.tags.includes(state.tag)) &&
    (!state.owner || summary.owner === state.owner) && words.every((word) => summary.text.includes(word)))
    .sort((SORTS[state.sort] ?? SORTS.newest).order);
  const fields = fieldsOf(view).filter((field) => !field.isUsed || summaries.some(field.isUsed));
  return [
    element("h2", {}, TEXTS.estate),
    element("p.status", { role: "status" }, `${rows.length} of ${summaries.length} ${TEXTS.datasets} · ${model.columns.filter((column) => column.name).length} ${TEXTS.columns.toLowerCase()} · ${new Set(model.processes.map((process) => process.job || process.name)).size} ${TEXTS.jobs}`),
    ...(tiles.length ? [element("p.tiles", { role: "group", "aria-label": TEXTS.onlyThose }, ...tiles)] : []),
    element("p.filters", {}, filter, ...choices),
    ...changesOf(view),
    element("table.data", {}, element("thead", {}, element("tr", {}, ...fields.map(({ title, isWide }) => element("th", { scope: "col", class: isWide ? "wide" : undefined }, title)))),
      element("tbody", {}, ...rows.slice(0, MOST_ROWS).map((summary) => element("tr", { "data-row": model.datasets[summary.dataset].qualified_name }, ...fields.map(({ cell }) => cell(summary)))))),
    ...(rows.length > MOST_ROWS ? [element("p.status", {}, `${rows.length - MOST_ROWS} ${TEXTS.moreRows}`)] : []),
  ];
}

/** A choice of one value of a filter; none where there is nothing to choose from. @param {string} field @param {string} any
 * @param {string[][]} options @param {string} value @param {(part: object) => void} change @returns {Node[]} */
function chosenFrom(field, any, options, value, change) {
  if (!options.length) return [];
  const select = /** @type {HTMLSelectElement} */ (element("select", { id: `by-${field}`, "aria-label": any || TEXTS.sort },
    ...(any ? [["", any], ...options] : options).map(([name, text]) => element("option", { value: name }, text))));
  select.value = value;
  select.addEventListener("change", () => change({ [field]: select.value }));
  return [select];
}

/** The columns of the table; one that is used by no data set is left out. @param {View} view
 * @returns {{title: string, cell: (summary: Summary) => Node, isUsed?: (summary: Summary) => boolean, isWide?: boolean}[]} `isWide`: not on a phone */
function fieldsOf(view) {
  const { model } = view;
  return [
    { title: TEXTS.name, cell: ({ dataset }) => {
      const { name, type, description } = model.datasets[dataset];
      return element("td", {}, nameLink(view, dataset, null, name), element("small", {}, [model.parentOf(dataset), description ?? ""].filter(Boolean).join(" · ") || typeWord(type)));
    } },
    { title: TEXTS.tag, isUsed: ({ tags }) => tags.length > 0, cell: ({ tags }) => element("td", {},
      ...tags.slice(0, MOST_TAGS).map((name) => element("span.tag", {}, name)), ...(tags.length > MOST_TAGS ? [`+${tags.length - MOST_TAGS}`] : [])) },
    { title: TEXTS.owner, isWide: true, isUsed: ({ owner }) => owner !== "", cell: ({ owner }) => element("td.wide", {}, owner) },
    { title: TEXTS.writtenAt, isWide: true, isUsed: ({ written }) => written !== null, cell: ({ written }) => element("td.wide", {}, written === null ? "" : moment(written).slice(0, 16)) },
    { title: TEXTS.lastRows, isWide: true, isUsed: ({ dataset }) => rowsOf(model.datasets[dataset]) !== "", cell: ({ dataset }) => element("td.wide", {}, rowsOf(model.datasets[dataset])) },
    { title: TEXTS.readers, isWide: true, cell: ({ readers }) => element("td.wide", {}, String(readers)) },
    { title: TEXTS.health, cell: (summary) => element("td", { class: ONLY.failed.has(summary) ? "error" : undefined }, [HEALTH_WORDS[summary.health] ?? "",
      summary.failedTests ? `✗ ${summary.failedTests}` : "", summary.unknown ? `${summary.unknown} ${TEXTS.unknown}` : "", summary.placeholder ? TEXTS.placeholder : ""].filter(Boolean).join(" · ")) },
  ];
}

/** The newest times at which lineage changed. @param {View} view @returns {Node[]} */
function changesOf({ model, actions }) {
  const changes = [...model.changes];
  if (!model.history || changes.length < 2) return [];
  const list = changes.slice(1).slice(-MOST_CHANGES).reverse().map(([time, count]) => {
    const [compare] = changes[changes.findIndex(([other]) => other === time) - 1];
    return element("li", {}, button(`${moment(time)}: ${count} ${TEXTS.changesSeen}`, () => actions.change({ at: timeInAddress(time), compare: timeInAddress(compare) }), { class: "link", "data-changed": timeInAddress(time) }));
  });
  return [element("details", {}, element("summary", {}, TEXTS.newestChanges), element("ul", {}, ...list))];
}
