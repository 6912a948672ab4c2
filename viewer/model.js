// The document of lineage with its indexes. docs/reference/lineage-document.md describes the document.

/**
 * @typedef {{qualified_name: string, type: string, name: string, store?: string, zone?: string, placeholder?: boolean,
 *   owner?: string, description?: string, tags?: string[], hierarchy?: [string, string][], rows?: number, size?: number,
 *   written?: number, tested?: number, passed_tests?: number}} Dataset
 * @typedef {{qualified_name: string, name: string, operations?: string[], platform?: string, workspace?: string,
 *   job?: string, link?: string, inputs?: number[], outputs?: number[], parsed_inputs?: number[],
 *   unresolved_tables?: string[], generic_identity?: boolean, exact?: boolean, health?: string, last_run?: string,
 *   first_seen?: number, last_seen?: number, statement?: string, owner?: string, description?: string, catalog_type?: string,
 *   stated?: [string, string][]}} Process
 * @typedef {{number: number, dataset: number, name: string, type: string, constant: boolean}} Column
 * @typedef {{number: number, process: number, input: number, output: number, kind: string, masked: boolean,
 *   parsed: boolean, from: number, to: number, steps: string[], description: string}} Edge
 * @typedef {{number: number, process: number, input: number, output: number, from: number, to: number}} Flow
 * @typedef {{dataset: number, written: number | null, readers: number, health: string, unknown: number, masked: number,
 *   failedTests: number, tags: string[], owner: string, placeholder: boolean, text: string}} Summary a data set in one
 *   line: when it was written last (milliseconds), how many data sets are made of it, `text` in lower case to filter by
 * @typedef {{dataset: number, column: string, change: "added" | "removed" | "retyped", at: number, old: string, type: string}}
 *   SchemaChange `at` in milliseconds, with the types before and after
 * @typedef {{column: string, name: string, severity: string}} FailedTest `column` empty: of the whole data set
 */

/** The type of the data set that stands for those that filters leave out (shared/model.py). */
const EXCLUDED = "throughline_excluded";
const NOT_SET = -1;
const MANY_EDGES = 20000;

/** Decode the base64 gzip of a document. @param {string} text */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** @param {Map<number, number[]>} map @param {number} key @param {number} value */
function push(map, key, value) {
  const found = map.get(key);
  if (found) found.push(value);
  else map.set(key, [value]);
}

export class Model {
  /** @param {any} document */
  constructor(document) {
    /** @type {boolean} */
    this.history = document.history;
    /** @type {string} */
    this.source = document.source;
    /** @type {number[]} milliseconds, oldest first */
    this.times = document.times.map((/** @type {string} */ text) => Date.parse(text));
    /** @type {Dataset[]} */
    this.datasets = document.datasets;
    /** @type {Process[]} */
    this.processes = document.processes;
    /** @type {Column[]} */
    this.columns = document.columns.map((/** @type {any[]} */ row, /** @type {number} */ number) => ({
      number, dataset: row[0], name: row[1], type: row[2] ?? "", constant: row[3] ?? false,
    }));
    /** @type {Edge[]} */
    this.edges = document.edges.map((/** @type {any[]} */ row, /** @type {number} */ number) => ({
      number, process: row[0], input: row[1], output: row[2], kind: row[3], masked: row[4] ?? false,
      parsed: row[5] ?? false, from: row[6] ?? NOT_SET, to: row[7] ?? NOT_SET, steps: row[8] ?? [],
      description: row[9] ?? "",
    }));
    /** @type {Flow[]} */
    this.flows = document.flows.map((/** @type {any[]} */ row, /** @type {number} */ number) => ({
      number, process: row[0], input: row[1], output: row[2], from: row[3] ?? NOT_SET, to: row[4] ?? NOT_SET,
    }));
    /** @type {Map<number, string[]>} */
    this.tags = new Map();
    for (const [column, name] of document.tags ?? []) {
      this.tags.set(column, [...(this.tags.get(column) ?? []), name]);
    }
    /** @type {Map<number, FailedTest[]>} quality tests whose last result is a failure, by data set */
    this.failedTests = new Map();
    for (const [dataset, column, name, , , severity] of document.failed_tests ?? []) {
      this.failedTests.set(dataset, [...(this.failedTests.get(dataset) ?? []), { column, name, severity: severity ?? "" }]);
    }
    /** @type {SchemaChange[]} */
    this.schemaChanges = (document.schema_changes ?? []).map((/** @type {any[]} */ [dataset, column, change, at, old, type]) => (
      { dataset, column, change, at: Date.parse(at), old: old ?? "", type: type ?? "" }));
    /** @type {Map<number, number[]>} columns of each data set */
    this.columnsOf = new Map();
    for (const column of this.columns) push(this.columnsOf, column.dataset, column.number);
    /** @type {Map<string, number>} */
    this.byName = new Map(this.datasets.map((each, number) => [each.qualified_name, number]));
    /** @type {Map<number, number[]>} edges by the column that they leave, and that they enter */
    this.edgesOut = new Map();
    /** @type {Map<number, number[]>} */
    this.edgesIn = new Map();
    for (const edge of this.edges) {
      push(this.edgesOut, edge.input, edge.number);
      push(this.edgesIn, edge.output, edge.number);
    }
    /** @type {Map<number, number[]>} flows by the data set that they leave, and that they enter */
    this.flowsOut = new Map();
    /** @type {Map<number, number[]>} */
    this.flowsIn = new Map();
    for (const flow of this.flows) {
      push(this.flowsOut, flow.input, flow.number);
      push(this.flowsIn, flow.output, flow.number);
    }
    /** @type {Map<number | null, Set<number>>} unknown columns by time */
    this.unknownAt = new Map();
    /** @type {Map<number | null, Summary[]>} by time */
    this.summariesAt = new Map();
    /** @type {Map<number, number> | null} */
    this.changeCounts = null;
  }

  /** The points of time (milliseconds) at which lineage or schemas changed, oldest first, with the number of changes. */
  get changes() {
    if (!this.changeCounts) {
      const times = [...this.edges, ...this.flows].flatMap((link) => [link.from, link.to]).filter((number) => number !== NOT_SET)
        .map((number) => this.times[number]).concat(this.schemaChanges.map((change) => change.at));
      /** @type {Map<number, number>} */
      const counts = new Map();
      for (const time of times.sort((one, other) => one - other)) counts.set(time, (counts.get(time) ?? 0) + 1);
      this.changeCounts = counts;
    }
    return this.changeCounts;
  }

  /** The path of a data set without its last part and without the scheme. @param {number} dataset */
  parentOf(dataset) {
    const path = this.datasets[dataset].qualified_name.replace(/^[a-z0-9+.-]+:\/\//i, "").replace(/[?#].*$/, "").replace(/\/+$/, "");
    return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  }

  /** The name of a data set with the preceding part, since short names repeat: `raw/customers`. @param {number} dataset */
  longName(dataset) {
    const parent = this.parentOf(dataset);
    const last = parent.slice(parent.lastIndexOf("/") + 1);
    return last ? `${last}/${this.datasets[dataset].name}` : this.datasets[dataset].name;
  }

  /** The number of a column of a data set, or undefined. @param {number} dataset @param {string} name */
  column(dataset, name) {
    return (this.columnsOf.get(dataset) ?? []).find((number) => this.columns[number].name === name);
  }

  /** Whether an edge or flow is valid at a time in milliseconds (null: now).
   * @param {{from: number, to: number}} each @param {number | null} at */
  valid(each, at) {
    if (at === null) return each.to === NOT_SET;
    return (each.from === NOT_SET || this.times[each.from] <= at) && (each.to === NOT_SET || at < this.times[each.to]);
  }

  /** Return the columns whose source is not known; shared/lineage/graph.py has the rule. @param {number | null} at */
  unknown(at) {
    const known = this.unknownAt.get(at);
    if (known) return known;
    /** @type {Set<number>} pairs of a process and a column as one number, which is faster than a text */
    const entered = new Set();
    const pair = (/** @type {number} */ process, /** @type {number} */ column) => process * this.columns.length + column;
    const withColumns = new Set();
    const here = new Set();
    const elsewhere = new Set();
    for (const edge of this.edges) {
      const isValid = this.valid(edge, at);
      (isValid ? here : elsewhere).add(edge.input).add(edge.output);
      if (!isValid) continue;
      withColumns.add(edge.process);
      if (edge.kind !== "condition") entered.add(pair(edge.process, edge.output));
    }
    const changesRows = new Set(["delete", "merge", "update"]);
    /** @type {Map<number, Set<number>>} */
    const writers = new Map();
    for (const flow of this.flows) {
      const process = this.processes[flow.process];
      const operations = process.operations ?? [];
      const leaves = withColumns.has(flow.process) && operations.length > 0 && operations.every((each) => changesRows.has(each));
      if (process.exact || leaves || !this.valid(flow, at)) continue;
      const own = writers.get(flow.output) ?? new Set();
      writers.set(flow.output, own.add(flow.process));
    }
    /** @type {Set<number>} */
    const found = new Set();
    const withSchema = new Set(this.columns.filter((each) => each.type).map((each) => each.dataset));
    for (const column of this.columns) {
      if (column.name && this.datasets[column.dataset].type === EXCLUDED) found.add(column.number);
      const gone = elsewhere.has(column.number) && !here.has(column.number) && !column.type && withSchema.has(column.dataset);
      if (!column.name || gone) continue;
      for (const writer of writers.get(column.dataset) ?? []) {
        if (!entered.has(pair(writer, column.number))) found.add(column.number);
      }
    }
    this.unknownAt.set(at, found);
    return found;
  }

  /** The processes that write a data set. @param {number} dataset @param {number | null} at @returns {Process[]} */
  writersOf(dataset, at) {
    const flows = (this.flowsIn.get(dataset) ?? []).map((number) => this.flows[number]).filter((flow) => this.valid(flow, at));
    return [...new Set(flows.map((flow) => this.processes[flow.process]))];
  }

  /** The worst state of the processes that write a data set. @param {number} dataset @param {number | null} at */
  healthOf(dataset, at) {
    const states = this.writersOf(dataset, at).map((process) => process.health);
    return ["failed", "overdue", "unended"].find((state) => states.includes(state)) ?? "good";
  }

  /** When a data set was written last, in milliseconds; null where that is not known, also
   * where it was written since. @param {number} dataset @param {number | null} at */
  writtenAt(dataset, at) {
    const times = this.writersOf(dataset, at).map((process) => this.times[process.last_seen ?? NOT_SET] ?? 0);
    const newest = Math.max(0, ...times);
    return newest && (at === null || newest <= at) ? newest : null;
  }

  /** Whether summaries have no unknown columns yet: in a large document these take longer than all the rest.
   * @param {number | null} at */
  isHasty(at) {
    return this.edges.length > MANY_EDGES && !this.unknownAt.has(at);
  }

  /** Each data set in one line. @param {number | null} at @returns {Summary[]} */
  summaries(at) {
    const known = this.summariesAt.get(at);
    if (known) return known;
    const isHasty = this.isHasty(at);
    const unknown = isHasty ? new Set() : this.unknown(at);
    const masked = new Set(this.edges.filter((edge) => edge.masked && this.valid(edge, at)).map((edge) => edge.output));
    const made = this.datasets.map((dataset, number) => {
      const columns = this.columnsOf.get(number) ?? [];
      const tags = [...new Set([...(dataset.tags ?? []), ...columns.flatMap((column) => this.tags.get(column) ?? [])])].sort();
      const flows = (this.flowsOut.get(number) ?? []).map((link) => this.flows[link]).filter((flow) => this.valid(flow, at));
      return {
        dataset: number, written: this.writtenAt(number, at), readers: new Set(flows.map((flow) => flow.output)).size, health: this.healthOf(number, at),
        unknown: columns.filter((column) => unknown.has(column)).length, masked: columns.filter((column) => masked.has(column)).length,
        failedTests: (this.failedTests.get(number) ?? []).length, tags, owner: dataset.owner ?? "", placeholder: dataset.placeholder ?? false,
        text: [dataset.qualified_name, dataset.owner, dataset.description, ...tags].join(" ").toLowerCase(),
      };
    });
    if (!isHasty) this.summariesAt.set(at, made);
    return made;
  }

  /** The condition edges that decide which rows of a data set are written. @param {number} dataset @param {number | null} at */
  conditions(dataset, at) {
    const rows = this.column(dataset, "");
    const into = rows === undefined ? [] : this.edgesIn.get(rows) ?? [];
    return into.filter((number) => this.edges[number].kind === "condition" && this.valid(this.edges[number], at));
  }

  /** Return tables of unknown location that the processes into a data set read. @param {number} dataset @param {number | null} at */
  unresolved(dataset, at) {
    /** @type {Set<string>} */
    const found = new Set();
    for (const number of this.flowsIn.get(dataset) ?? []) {
      const flow = this.flows[number];
      if (!this.valid(flow, at)) continue;
      for (const table of this.processes[flow.process].unresolved_tables ?? []) found.add(table);
    }
    return [...found].sort();
  }
}
