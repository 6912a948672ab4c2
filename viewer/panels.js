// The panel beside the picture: a data set, a process, impact, changes, all data.

import { button, copied, csvRow, element, facts, saved } from "./elements.js";
import { signOf } from "./draw.js";
import { datasetsFrom, dependents } from "./select.js";
import { HEALTH_WORDS, KEYS, KIND_MEANINGS, KIND_WORDS, TEXTS } from "./texts.js";
import { lines } from "./visible.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {{choose: (asset: string, column: string) => void, change: (part: Partial<State>) => void}} Actions
 * @typedef {{model: Model, state: State, at: number | null, actions: Actions}} View
 */

/** A link to a data set or a column of it. @param {View} view @param {number} dataset @param {number | null} column
 * @param {string} [text] */
export function nameLink(view, dataset, column, text) {
  const { model, actions } = view;
  const found = model.datasets[dataset];
  const name = column === null ? "" : model.columns[column].name;
  const shown = text ?? (column === null ? model.longName(dataset) : name || TEXTS.allRows);
  return button(shown, () => actions.choose(found.qualified_name, name), {
    class: "link", title: found.qualified_name, "data-link": found.qualified_name, "data-link-column": name,
  });
}

/** @param {Model} model @param {number | undefined} number */
function timeText(model, number) {
  return number === undefined || number < 0 ? "" : moment(model.times[number]);
}

/** A time in UTC, to the minute. @param {number} milliseconds */
export function moment(milliseconds) {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Make a link that leaves the page, only to https. @param {string | undefined} address */
function outside(address) {
  if (!address || !/^https:\/\//i.test(address)) return address ?? "";
  return element("a", { href: address, target: "_blank", rel: "noreferrer noopener" }, TEXTS.open);
}

/** @param {View} view @param {number} number */
export function datasetPanel(view, number) {
  const { model, state, actions, at } = view;
  const dataset = model.datasets[number];
  const starred = state.stars.includes(dataset.qualified_name);
  const unknown = model.unknown(at);
  const unresolved = model.unresolved(number, at);
  const stars = starred ? state.stars.filter((each) => each !== dataset.qualified_name) : [...state.stars, dataset.qualified_name];
  const columns = (model.columnsOf.get(number) ?? []).filter((each) => model.columns[each].name);
  const failed = model.failedTests.get(number) ?? [];
  return [
    element("h2", {}, dataset.name),
    element("p.name", {}, dataset.qualified_name),
    element("p", {}, button(starred ? TEXTS.unstar : TEXTS.star, () => actions.change({ stars })),
      " ", button(TEXTS.impact, () => actions.change({ view: "impact" })),
      ...(state.column ? [" ", button(TEXTS.dataset, () => actions.choose(dataset.qualified_name, ""))] : [])),
    facts([
      [TEXTS.type, dataset.type], [TEXTS.store, dataset.store ?? ""], [TEXTS.zone, dataset.zone ?? ""],
      [TEXTS.owner, dataset.owner ?? ""], [TEXTS.description, dataset.description ? lines(dataset.description.split("\n")) : ""],
      [TEXTS.tag, (dataset.tags ?? []).join(", ")],
      [TEXTS.health, dataset.placeholder ? TEXTS.placeholder : ""], [TEXTS.unresolved, unresolved.join(", ")],
    ]),
    ...(failed.length ? [element("h3", {}, `${TEXTS.failedTests} (${failed.length})`), element("ul.failed-tests", {},
      ...failed.map((each) => element("li", {}, [each.column, each.name].filter(Boolean).join(": "), each.severity ? ` (${each.severity})` : "")))] : []),
    element("h3", {}, `${TEXTS.columns} (${columns.length})`),
    element("ul.columns", {}, ...columns.map((each) => element("li", { class: state.column === model.columns[each].name ? "chosen" : undefined },
      nameLink(view, number, each), " ", element("span.type", {}, model.columns[each].type),
      ...(unknown.has(each) ? [element("span.mark", { title: TEXTS.unknownSource }, "?")] : []),
      ...(model.columns[each].constant ? [element("span.mark", { title: TEXTS.constant }, "=")] : []),
      ...(model.tags.get(each) ?? []).map((tag) => element("span.tag", {}, tag))))),
  ];
}

/** @param {View} view @param {number} number */
export function processPanel(view, number) {
  const { model, actions, at } = view;
  const process = model.processes[number];
  const edges = model.edges.filter((edge) => edge.process === number && model.valid(edge, at));
  const name = (/** @type {number} */ column) =>
    `${model.longName(model.columns[column].dataset)}.${model.columns[column].name || TEXTS.allRows}`;
  const list = (/** @type {string[]} */ texts) => element("ul", {}, ...[...new Set(texts)].map((text) => element("li", {}, text)));
  const conditions = edges.filter((edge) => edge.kind === "condition").map((edge) => `${name(edge.input)} (${edge.steps.join(", ").toLowerCase() || KIND_WORDS.condition})`);
  const masks = edges.filter((edge) => edge.masked && edge.kind !== "condition").map((edge) => `${name(edge.input)} → ${name(edge.output)}`);
  const bounds = edges.filter((edge) => edge.kind === "opaque").map((edge) => `${name(edge.input)} → ${name(edge.output)}`);
  const parsed = edges.filter((edge) => edge.parsed).map((edge) => `${name(edge.input)} → ${name(edge.output)}`);
  const described = edges.filter((edge) => edge.description).map((edge) => `${name(edge.output)} = ${edge.description}`);
  const constants = (process.outputs ?? []).flatMap((each) => (model.columnsOf.get(each) ?? []).filter((column) => model.columns[column].constant).map(name));
  const section = (/** @type {string} */ title, /** @type {string[]} */ texts) => (texts.length ? [element("h3", {}, title), list(texts)] : []);
  const flows = model.flows.filter((flow) => flow.process === number && model.valid(flow, at));
  const links = (/** @type {number[]} */ numbers) => element("ul", {}, ...[...new Set(numbers)].map((each) => element("li", {}, nameLink(view, each, null))));
  return [
    element("p", {}, button(TEXTS.close, () => actions.change({ process: "" }), { "data-close": true })),
    element("h2", {}, process.name), element("p.name", {}, process.qualified_name),
    facts([
      [TEXTS.operations, (process.operations ?? []).join(", ")], [TEXTS.health, HEALTH_WORDS[process.health ?? ""] ?? ""],
      [TEXTS.exact, !process.exact ? TEXTS.isNotExact : bounds.length ? TEXTS.isBound : TEXTS.isExact],
      [TEXTS.workspace, [process.platform, process.workspace].filter(Boolean).join(" · ")], [TEXTS.job, process.job ?? ""],
      ["", outside(process.link)], [TEXTS.lastRun, process.last_run ?? ""],
      [TEXTS.firstSeen, timeText(model, process.first_seen)], [TEXTS.seenLast, timeText(model, process.last_seen)],
    ]),
    element("h3", {}, TEXTS.reads), links(flows.map((flow) => flow.input)),
    element("h3", {}, TEXTS.writes), links(flows.map((flow) => flow.output)),
    ...section(TEXTS.unresolved, process.unresolved_tables ?? []),
    ...section(TEXTS.parsedInputs, (process.parsed_inputs ?? []).map((each) => model.datasets[each].name)),
    ...section(TEXTS.conditionsOf, conditions), ...section(TEXTS.masks, masks), ...section(TEXTS.bounds, bounds), ...section(TEXTS.constants, constants),
    ...section(TEXTS.parsed, parsed), ...section(TEXTS.description, described),
    ...(process.statement ? [element("h3", {}, TEXTS.statement), element("pre", {}, lines(process.statement.split("\n")))] : []),
  ];
}

/** Make the list of everything downstream of a data set or a column, by distance. @param {View} view @param {number} dataset @param {number | undefined} column */
export function impactOf(view, dataset, column) {
  const { model, state, at } = view;
  const starts = column === undefined ? model.columnsOf.get(dataset) ?? [] : [column];
  const columns = dependents(model, starts, at, state.conditions);
  const tables = column === undefined ? datasetsFrom(model, [dataset], "down", null, at).distance : new Map();
  /** @type {Map<number, {distance: number, columns: number[]}>} */
  const found = new Map();
  for (const [number, distance] of [...tables, ...[...columns].map(([each, far]) => /** @type {[number, number]} */ ([model.columns[each].dataset, far]))]) {
    const known = found.get(number);
    if (!known || distance < known.distance) found.set(number, { distance, columns: known?.columns ?? [] });
  }
  for (const number of columns.keys()) if (!starts.includes(number)) found.get(model.columns[number].dataset)?.columns.push(number);
  found.delete(dataset);
  return [...found].map(([number, each]) => ({ dataset: number, ...each, columns: each.columns.sort((one, other) => one - other) }))
    .sort((one, other) => one.distance - other.distance || one.dataset - other.dataset);
}

/** @param {View} view @param {number} dataset @param {number | undefined} column */
export function impactPanel(view, dataset, column) {
  const { model } = view;
  const rows = impactOf(view, dataset, column);
  const tags = (/** @type {number} */ each) => model.tags.get(each) ?? [];
  const text = ["distance,dataset,column,tags\r\n", ...rows.flatMap((row) => {
    const names = row.columns.length ? row.columns.map((each) => [model.columns[each].name || TEXTS.allRows, tags(each).join(" ")]) : [["", ""]];
    return names.map((name) => csvRow([String(row.distance), model.datasets[row.dataset].qualified_name, ...name]));
  })].join("");
  const status = element("span.status", { role: "status" });
  /** @type {Node[]} */
  const groups = [];
  for (const distance of new Set(rows.map((row) => row.distance))) {
    groups.push(element("h3", {}, `${distance} ${TEXTS.steps}${distance === 1 ? "" : "s"}`), element("ul.impact", { "data-distance": distance },
      ...rows.filter((row) => row.distance === distance).map((row) => element("li", { "data-impact": model.datasets[row.dataset].qualified_name },
        nameLink(view, row.dataset, null), ...row.columns.flatMap((each, place) => [place ? ", " : ": ", nameLink(view, row.dataset, each), ...tags(each).map((tag) => element("span.tag", {}, tag))])))));
  }
  const subject = `${model.datasets[dataset].name}${column === undefined ? "" : `.${model.columns[column].name}`}`;
  return [
    element("h2", {}, `${TEXTS.impactOf}: ${subject}`),
    ...(rows.length ? [element("p", {}, button(TEXTS.copy, () => copied(text).then((done) => { status.textContent = done ? TEXTS.copied : ""; })),
      " ", button(TEXTS.save, () => saved("impact.csv", text, "text/csv")), " ", status), ...groups] : [element("p", {}, TEXTS.impactNone)]),
  ];
}

/** Return the changes between two times: edges by pair of columns, flows by pair of data sets.
 * @param {Model} model @param {number | null} before @param {number | null} after @returns {Map<string, "added" | "gone" | "changed">} by the id of a curve */
export function changesBetween(model, before, after) {
  const states = [before, after].map((at) => {
    /** @type {Map<string, Set<string>>} */
    const found = new Map();
    for (const edge of model.edges) {
      if (!model.valid(edge, at)) continue;
      const id = `${edge.input}>${edge.output}>${edge.kind === "condition" ? "condition" : "value"}`;
      found.set(id, (found.get(id) ?? new Set()).add(`${edge.kind} ${edge.masked}`));
    }
    for (const flow of model.flows) if (model.valid(flow, at)) found.set(`${flow.input}>${flow.output}`, new Set(["table"]));
    return new Map([...found].map(([id, ways]) => [id, [...ways].sort().join()]));
  });
  /** @type {Map<string, "added" | "gone" | "changed">} */
  const changes = new Map();
  for (const [id, value] of states[1]) {
    const old = states[0].get(id);
    if (old === undefined) changes.set(id, "added");
    else if (old !== value) changes.set(id, "changed");
  }
  for (const id of states[0].keys()) if (!states[1].has(id)) changes.set(id, "gone");
  return changes;
}

/** @param {View} view @param {Map<string, "added" | "gone" | "changed">} changes @param {number | undefined} subject */
export function changesPanel(view, changes, subject) {
  const { model } = view;
  /** @type {Map<number, {word: string, text: string, column: number | null}[]>} */
  const byTable = new Map();
  for (const [id, word] of [...changes].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const [from, to, kind] = id.split(">");
    const [one, other] = [Number(from), Number(to)];
    const ends = kind === undefined ? [one, other] : [model.columns[one].dataset, model.columns[other].dataset];
    if (subject !== undefined && !ends.includes(subject)) continue;
    const name = (/** @type {number} */ column) => `${model.longName(model.columns[column].dataset)}.${model.columns[column].name || TEXTS.allRows}`;
    const text = kind === undefined ? `${model.longName(one)} → ${model.longName(other)}` : `${name(one)} → ${name(other)}`;
    const list = byTable.get(ends[1]) ?? [];
    list.push({ word, text, column: kind === undefined ? null : other });
    byTable.set(ends[1], list);
  }
  if (!byTable.size) return [element("h2", {}, TEXTS.changes), element("p", {}, TEXTS.noChanges)];
  return [element("h2", {}, TEXTS.changes), ...[...byTable].sort(([one], [other]) => one - other).flatMap(([number, list]) => [
    element("h3", {}, nameLink(view, number, null)),
    element("ul.changes", {}, ...list.map((each) => element("li", { class: each.word, "data-change": each.word }, element("strong", {}, TEXTS[/** @type {"added"} */ (each.word)]), ` ${each.text}`))),
  ])];
}

/** Show all data in groups, with the data flows between them. @param {View} view */
export function estatePanel(view) {
  const { model, state, actions, at } = view;
  /** @type {Map<number, string>} */
  const groupOf = new Map();
  const jobs = new Map();
  for (const flow of model.flows) if (model.valid(flow, at)) jobs.set(flow.output, model.processes[flow.process].job || model.processes[flow.process].name);
  model.datasets.forEach((dataset, number) => groupOf.set(number, state.group === "job" ? jobs.get(number) ?? TEXTS.noJob
    : state.group === "zone" ? [dataset.store, dataset.zone].filter(Boolean).join("/") : dataset.store ?? ""));
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const [number, group] of groupOf) {
    const list = groups.get(group);
    if (list) list.push(number);
    else groups.set(group, [number]);
  }
  const choice = element("p", {}, `${TEXTS.groupBy} `, ...(/** @type {const} */ ([["store", TEXTS.byStore], ["zone", TEXTS.byZone], ["job", TEXTS.byJob]])).map(
    ([name, text]) => button(text, () => actions.change({ group: name }), { "aria-pressed": String(state.group === name) })));
  const most = 60;
  return [
    element("h2", {}, TEXTS.estate),
    element("p", {}, `${model.datasets.length} ${TEXTS.datasets}. ${model.source === "lake" ? TEXTS.fromLake : TEXTS.record}`), choice,
    ...[...groups].sort(([one, first], [other, second]) => second.length - first.length || (one < other ? -1 : 1)).map(([group, numbers]) =>
      element("details", { "data-group": group }, element("summary", {}, `${group} (${numbers.length})`),
        element("ul", {}, ...numbers.slice(0, most).map((number) => element("li", {}, nameLink(view, number, null))),
          ...(numbers.length > most ? [element("li", {}, `+${numbers.length - most}`)] : [])))),
  ];
}

/** @param {View} view */
export function startPanel(view) {
  const { model, state } = view;
  const list = (/** @type {string} */ title, /** @type {string[]} */ names) => {
    const known = names.map((name) => model.byName.get(name)).filter((number) => number !== undefined);
    return known.length ? [element("h3", {}, title), element("ul", {}, ...known.map((number) => element("li", {}, nameLink(view, number, null))))] : [];
  };
  return [
    element("p", {}, TEXTS.start), ...list(TEXTS.favourites, state.stars), ...list(TEXTS.lastSeen, state.seen),
    ...estatePanel(view), element("h3", {}, TEXTS.signs),
    element("div.signs", {}, facts(Object.entries(KIND_WORDS).map(([kind, word]) => [word, element("span", {}, signOf(kind), KIND_MEANINGS[kind])]))),
    element("h3", {}, TEXTS.help), facts(KEYS),
  ];
}
