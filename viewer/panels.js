// The panel beside the picture: a data set, a column, a process, impact, changes, all data.

import { button, copied, csvRow, element, facts, saved } from "./elements.js";
import { signOf } from "./draw.js";
import { impactOf } from "./select.js";
import { HEALTH_WORDS, KEYS, KIND_MEANINGS, KIND_WORDS, SIGNS, TEXTS, moment, rowsOf, typeWord } from "./texts.js";
import { lines } from "./visible.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {{choose: (asset: string, column: string) => void, change: (part: Partial<State>, replace?: boolean) => void,
 *   star: (name: string) => void}} Actions
 * @typedef {{model: Model, state: State, at: number | null, actions: Actions, lists: import("./favourites.js").Lists}} View
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

/** Make a link that leaves the page, only to https. @param {string | undefined} address */
function outside(address) {
  if (!address || !/^https:\/\//i.test(address)) return address ?? "";
  return element("a", { href: address, target: "_blank", rel: "noreferrer noopener" }, TEXTS.open);
}

/** A button that copies a text that is not shown. @param {string} words @param {string} text */
function copyButton(words, text) {
  const made = button(words, () => copied(text).then((isCopied) => { if (isCopied) made.textContent = TEXTS.copied; }), { title: text });
  return made;
}

/** @param {View} view @param {number} number */
export function datasetPanel(view, number) {
  const { model, actions, at } = view;
  const dataset = model.datasets[number];
  const isStarred = view.lists.stars.includes(dataset.qualified_name);
  const unresolved = model.unresolved(number, at);
  const written = model.writtenAt(number, at);
  const columns = (model.columnsOf.get(number) ?? []).filter((column) => model.columns[column].name);
  const failed = model.failedTests.get(number) ?? [];
  return [
    element("h2", {}, dataset.name),
    element("p.name", {}, dataset.qualified_name),
    ...(dataset.description ? [element("p.about", {}, lines(dataset.description.split("\n")))] : []),
    element("p", {}, button(isStarred ? TEXTS.unstar : TEXTS.star, () => actions.star(dataset.qualified_name), { "aria-pressed": String(isStarred) }),
      " ", copyButton(TEXTS.copyPath, dataset.qualified_name)),
    facts([
      [TEXTS.owner, dataset.owner ?? ""], [TEXTS.tag, badges(dataset.tags ?? [])],
      [TEXTS.health, [HEALTH_WORDS[model.healthOf(number, at)] ?? "", dataset.placeholder ? TEXTS.placeholder : ""].filter(Boolean).join(" · ")],
      [TEXTS.writtenAt, [written === null ? "" : moment(written), rowsOf(dataset), dataset.size === undefined ? "" : `${dataset.size.toLocaleString("en")} ${TEXTS.bytes}`].filter(Boolean).join(", ")],
      [TEXTS.tests, dataset.tested === undefined ? "" : `${timeText(model, dataset.tested)}, ${dataset.passed_tests ?? 0} ${TEXTS.passed}`],
      [TEXTS.hierarchy, (dataset.hierarchy ?? []).map((level) => level.join(" ")).join(", ")],
      [TEXTS.type, typeWord(dataset.type)], [TEXTS.store, dataset.store?.endsWith("://") ? "" : dataset.store ?? ""], [TEXTS.zone, dataset.zone ?? ""],
      [TEXTS.unresolved, unresolved.join(", ")],
    ]),
    ...(failed.length ? [element("h3", {}, `${TEXTS.failedTests} (${failed.length})`), element("ul.failed-tests", {},
      ...failed.map((test) => element("li", {}, [test.column, test.name].filter(Boolean).join(": "), test.severity ? ` (${test.severity})` : "")))] : []),
    element("h3", {}, `${TEXTS.columns} (${columns.length})`),
    element("ul.columns", {}, ...columns.map((column) => element("li", {},
      nameLink(view, number, column), " ", element("span.type", {}, model.columns[column].type), ...marksOf(view, column)))),
  ];
}

/** Tags in a row; empty where there are none. @param {string[]} tags */
function badges(tags) {
  return tags.length ? element("span", {}, ...tags.map((tag) => element("span.tag", {}, tag))) : "";
}

/** The signs and tags of a column. @param {View} view @param {number} column @returns {Node[]} */
function marksOf({ model, at }, column) {
  return [
    ...(model.unknown(at).has(column) ? [element("span.mark", { title: TEXTS.unknownSource }, "?")] : []),
    ...(model.columns[column].constant ? [element("span.mark", { title: TEXTS.constant }, "=")] : []),
    ...(model.tags.get(column) ?? []).map((tag) => element("span.tag", {}, tag)),
  ];
}

/** @param {View} view @param {number} dataset @param {number} number of the column */
export function columnPanel(view, dataset, number) {
  const { model, at } = view;
  const column = model.columns[number];
  const into = (model.edgesIn.get(number) ?? []).map((link) => model.edges[link]).filter((edge) => model.valid(edge, at) && edge.kind !== "condition");
  const expressions = [...new Set(into.map((edge) => edge.description).filter(Boolean))];
  const kinds = [...new Set(into.map((edge) => KIND_WORDS[edge.kind]))];
  const tests = (model.failedTests.get(dataset) ?? []).filter((test) => test.column === column.name);
  const conditions = model.conditions(dataset, at).map((link) => model.edges[link].input);
  return [
    element("h2", {}, column.name),
    element("p", {}, `${TEXTS.ofTable} `, nameLink(view, dataset, null)),
    facts([
      [TEXTS.type, column.type], [TEXTS.tag, badges(model.tags.get(number) ?? [])], [TEXTS.owner, model.datasets[dataset].owner ?? ""],
      [TEXTS.source, [model.unknown(at).has(number) ? TEXTS.unknownSource : "", column.constant ? TEXTS.constant : "", ...kinds].filter(Boolean).join(", ")],
      [TEXTS.writtenBy, model.writersOf(dataset, at).map((process) => process.job || process.name).join(", ")],
      [TEXTS.failedTests, tests.map((test) => test.name).join(", ")],
    ]),
    ...(expressions.length ? [element("h3", {}, TEXTS.expressions), element("ul.expressions", {}, ...expressions.map((text) => element("li", {}, element("code", {}, text))))] : []),
    ...(conditions.length ? [element("h3", {}, `${conditions.length} ${TEXTS.rowsDependOn}`), element("ul", {}, ...[...new Set(conditions)].map((input) => element("li", {},
      nameLink(view, model.columns[input].dataset, input, `${model.longName(model.columns[input].dataset)}.${model.columns[input].name || TEXTS.allRows}`))))] : []),
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
    element("h2", {}, process.name),
    ...(process.description ? [element("p.about", {}, lines(process.description.split("\n")))] : []),
    element("p", {}, copyButton(TEXTS.copyId, process.qualified_name)),
    facts([
      [TEXTS.owner, process.owner ?? ""],
      [TEXTS.operations, (process.operations ?? []).join(", ")], [TEXTS.health, HEALTH_WORDS[process.health ?? ""] ?? ""],
      [TEXTS.exact, process.catalog_type ? KIND_MEANINGS.catalog : !process.exact ? TEXTS.isNotExact : bounds.length ? TEXTS.isBound : TEXTS.isExact],
      [TEXTS.workspace, [process.platform, process.workspace].filter(Boolean).join(" · ")], [TEXTS.job, process.job ?? ""], [TEXTS.type, process.catalog_type ? typeWord(process.catalog_type) : ""],
      ["", outside(process.link)], [TEXTS.lastRun, process.last_run ?? ""],
      [TEXTS.firstSeen, timeText(model, process.first_seen)], [TEXTS.seenLast, timeText(model, process.last_seen)],
    ]),
    ...section(TEXTS.expressions, described),
    element("h3", {}, TEXTS.reads), links(flows.map((flow) => flow.input)),
    element("h3", {}, TEXTS.writes), links(flows.map((flow) => flow.output)),
    ...section(TEXTS.unresolved, process.unresolved_tables ?? []),
    ...section(TEXTS.parsedInputs, (process.parsed_inputs ?? []).map((each) => model.datasets[each].name)),
    ...section(TEXTS.conditionsOf, conditions), ...section(TEXTS.masks, masks), ...section(TEXTS.bounds, bounds), ...section(TEXTS.constants, constants),
    ...section(TEXTS.parsed, parsed),
    ...section(TEXTS.stated, (process.stated ?? []).map(([title, text]) => `${title}: ${text}`)),
    ...(process.statement ? [element("h3", {}, TEXTS.statement), element("pre", {}, lines(process.statement.split("\n")))] : []),
  ];
}

/** @param {View} view @param {number} dataset @param {number | undefined} column */
export function impactPanel(view, dataset, column) {
  const { model } = view;
  const rows = impactOf(model, view.state, dataset, column, view.at);
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
      " ", button(TEXTS.save, () => saved("impact.csv", new Blob([text], { type: "text/csv" }))), " ", status), ...groups] : [element("p", {}, TEXTS.impactNone)]),
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

/** The changes of schemas after one time and until another, in either order. @param {Model} model @param {number} before
 * @param {number | null} after null: now */
export function columnChanges(model, before, after) {
  const [first, last] = [before, after ?? Infinity].sort((one, other) => one - other);
  return model.schemaChanges.filter((change) => change.at > first && change.at <= last);
}

const COLUMN_WORDS = {
  added: { word: "added", text: TEXTS.columnAdded }, removed: { word: "gone", text: TEXTS.columnRemoved }, retyped: { word: "changed", text: TEXTS.columnRetyped },
};

/** @param {View} view @param {Map<string, "added" | "gone" | "changed">} changes @param {import("./model.js").SchemaChange[]} ofColumns
 * @param {number | undefined} subject */
export function changesPanel(view, changes, ofColumns, subject) {
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
  for (const { dataset, column, change, old, type } of ofColumns) {
    if (subject !== undefined && dataset !== subject) continue;
    const { word, text } = COLUMN_WORDS[change];
    byTable.set(dataset, [...(byTable.get(dataset) ?? []), { word, text: `${text}: ${column} (${[old, type].filter(Boolean).join(" → ")})`, column: null }]);
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
    element("h2", {}, TEXTS.groups), ...(model.history ? [] : [element("p", {}, TEXTS.record)]), choice,
    ...[...groups].sort(([one, first], [other, second]) => second.length - first.length || (one < other ? -1 : 1)).map(([group, numbers]) =>
      element("details", { "data-group": group }, element("summary", {}, `${group === "file://" ? TEXTS.localFiles : group} (${numbers.length})`),
        element("ul", {}, ...numbers.slice(0, most).map((number) => element("li", {}, nameLink(view, number, null))),
          ...(numbers.length > most ? [element("li", {}, `+${numbers.length - most}`)] : [])))),
  ];
}

/** @param {View} view */
export function startPanel(view) {
  const { model, lists } = view;
  const list = (/** @type {string} */ title, /** @type {string[]} */ names) => {
    const known = names.map((name) => model.byName.get(name)).filter((number) => number !== undefined);
    return known.length ? [element("h3", {}, title), element("ul", {}, ...known.map((number) => element("li", {}, nameLink(view, number, null))))] : [];
  };
  return [element("p", {}, TEXTS.start), ...list(TEXTS.favourites, lists.stars), ...list(TEXTS.recent, lists.recent), ...estatePanel(view)];
}

/** What the signs mean, and the keys. */
export function signsPanel() {
  return [
    element("h2", {}, TEXTS.signs),
    element("div.signs", {}, facts([...Object.entries(KIND_WORDS).map(([kind, word]) => /** @type {[string, Node]} */ ([word, element("span", {}, signOf(kind), KIND_MEANINGS[kind])])), ...SIGNS])),
    element("h2", {}, TEXTS.help), facts(KEYS),
  ];
}
