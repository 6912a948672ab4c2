// What one view shows: the data sets or columns around the subject. shared/lineage/exports.py has the same rules.

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./state.js").State} State
 * @typedef {{datasets: Map<number, number>, columns: Map<number, number> | null, edges: Set<number>, flows: Set<number>,
 *   opened: Set<number>}} Selection `columns` is null where no column is followed; `opened`: the cards that show columns
 * @typedef {{dataset: number, distance: number, columns: number[]}} Reached a data set downstream, with its columns
 */

/** In a picture of more cards only the chosen one shows columns by itself. */
const MAX_OPENED = 12;

/** Return the nodes within some steps of the starts, with their distances, and the links on the way.
 * @param {number[]} starts @param {Map<number, number[]>} near @param {(link: number) => number | null} far
 * @param {number | null} depth */
export function closure(starts, near, far, depth) {
  /** @type {Map<number, number>} */
  const distance = new Map(starts.map((each) => [each, 0]));
  /** @type {Set<number>} */
  const links = new Set();
  let frontier = [...distance.keys()];
  for (let away = 1; frontier.length && (depth === null || away <= depth); away += 1) {
    /** @type {number[]} */
    const found = [];
    for (const node of frontier) {
      for (const link of near.get(node) ?? []) {
        const end = far(link);
        if (end === null) continue;
        links.add(link);
        if (!distance.has(end)) {
          distance.set(end, away);
          found.push(end);
        }
      }
    }
    frontier = found;
  }
  return { distance, links };
}

/** Return the columns reached from some, in one direction. @param {Model} model @param {number[]} starts @param {"up" | "down"} way
 * @param {number | null} depth @param {number | null} at @param {boolean} conditions */
export function columnsFrom(model, starts, way, depth, at, conditions) {
  const near = way === "up" ? model.edgesIn : model.edgesOut;
  return closure(starts, near, (link) => {
    const edge = model.edges[link];
    if ((!conditions && edge.kind === "condition") || !model.valid(edge, at)) return null;
    return way === "up" ? edge.input : edge.output;
  }, depth);
}

/** Return everything that depends on some columns, with its distance. With conditions, a condition on all rows of a data
 * set reaches each of its columns. @param {Model} model @param {number[]} starts @param {number | null} at @param {boolean} conditions */
export function dependents(model, starts, at, conditions) {
  const distance = new Map(starts.map((each) => [each, 0]));
  const waiting = [...starts];
  for (let place = 0; place < waiting.length; place += 1) {
    const node = waiting[place];
    const { dataset, name } = model.columns[node];
    const ends = (model.edgesOut.get(node) ?? []).map((link) => model.edges[link])
      .filter((edge) => (conditions || edge.kind !== "condition") && model.valid(edge, at)).map((edge) => edge.output);
    for (const end of name ? ends : [...ends, ...(model.columnsOf.get(dataset) ?? [])]) {
      if (distance.has(end)) continue;
      distance.set(end, (distance.get(node) ?? 0) + 1);
      waiting.push(end);
    }
  }
  return distance;
}

/** Return the data sets reached from some, in one direction. @param {Model} model @param {number[]} starts @param {"up" | "down"} way
 * @param {number | null} depth @param {number | null} at */
export function datasetsFrom(model, starts, way, depth, at) {
  const near = way === "up" ? model.flowsIn : model.flowsOut;
  return closure(starts, near, (link) => {
    const flow = model.flows[link];
    if (!model.valid(flow, at)) return null;
    return way === "up" ? flow.input : flow.output;
  }, depth);
}

/** @param {Map<number, number>} up @param {Map<number, number>} down */
function signed(up, down) {
  const found = new Map(down);
  for (const [node, distance] of up) {
    const other = found.get(node);
    if (other === undefined || distance < Math.abs(other)) found.set(node, distance === 0 ? 0 : -distance);
  }
  return found;
}

/** @param {Model} model @param {State} state @param {number} dataset @param {number | undefined} column
 * @param {number | null} at @returns {Selection} */
export function selected(model, state, dataset, column, at) {
  if (state.view === "impact") return impactSelection(model, state, dataset, column, at);
  return column === undefined ? aroundDataset(model, state, dataset, at) : alongColumn(model, state, column, at);
}

/** Return everything downstream of a data set or a column, by distance. @param {Model} model @param {State} state
 * @param {number} dataset @param {number | undefined} column @param {number | null} at @returns {Reached[]} */
export function impactOf(model, state, dataset, column, at) {
  const starts = column === undefined ? model.columnsOf.get(dataset) ?? [] : [column];
  const columns = dependents(model, starts, at, state.conditions);
  const tables = column === undefined ? datasetsFrom(model, [dataset], "down", null, at).distance : new Map();
  /** @type {Map<number, Reached>} */
  const reached = new Map();
  const isNear = (/** @type {[number, number]} */ [, distance]) => state.down === null || distance <= state.down;
  for (const [number, distance] of [...tables].filter(isNear)) reached.set(number, { dataset: number, distance, columns: [] });
  for (const [number, distance] of [...columns].filter(isNear)) {
    const owner = model.columns[number].dataset;
    const entry = reached.get(owner) ?? { dataset: owner, distance, columns: [] };
    entry.distance = Math.min(entry.distance, distance);
    if (!starts.includes(number)) entry.columns.push(number);
    reached.set(owner, entry);
  }
  reached.delete(dataset);
  return [...reached.values()].map((entry) => ({ ...entry, columns: entry.columns.sort((one, other) => one - other) }))
    .sort((one, other) => one.distance - other.distance || one.dataset - other.dataset);
}

/** The list of the impact as a picture. @param {Model} model @param {State} state @param {number} dataset
 * @param {number | undefined} column @param {number | null} at @returns {Selection} */
function impactSelection(model, state, dataset, column, at) {
  const reached = impactOf(model, state, dataset, column, at);
  const datasets = new Map([[dataset, 0], ...reached.map((entry) => /** @type {[number, number]} */ ([entry.dataset, entry.distance]))]);
  const opened = openedCards(model, state, datasets);
  const flows = flowsBetween(model, datasets, at);
  if (column === undefined) return { datasets, columns: null, edges: edgesBetween(model, state, opened, at), flows, opened };
  const columns = new Map([column, ...reached.flatMap((entry) => entry.columns)].map((number) => [number, 0]));
  /** @type {Set<number>} */
  const edges = new Set();
  for (const number of columns.keys()) {
    for (const link of model.edgesOut.get(number) ?? []) {
      const edge = model.edges[link];
      if ((state.conditions || edge.kind !== "condition") && model.valid(edge, at) && columns.has(edge.output)) edges.add(link);
    }
  }
  return { datasets, columns, edges, flows: new Set(), opened };
}

/** The cards that show columns: those that were opened, and by themselves the chosen one and, in a small picture, those
 * next to it. @param {Model} model @param {State} state @param {Map<number, number>} datasets with their distances */
function openedCards(model, state, datasets) {
  const farthest = state.tables || state.column ? -1 : datasets.size > MAX_OPENED ? 0 : 1;
  return new Set([...datasets].filter(([number, distance]) => {
    const name = model.datasets[number].qualified_name;
    return state.open.includes(name) || (Math.abs(distance) <= farthest && !state.open.includes(`-${name}`));
  }).map(([number]) => number));
}

/** @param {Model} model @param {Map<number, number>} datasets @param {number | null} at @returns {Set<number>} */
function flowsBetween(model, datasets, at) {
  const into = [...datasets.keys()].flatMap((number) => model.flowsIn.get(number) ?? []);
  return new Set(into.filter((number) => datasets.has(model.flows[number].input) && model.valid(model.flows[number], at)));
}

/** The edges between columns of open cards. @param {Model} model @param {State} state @param {Set<number>} opened
 * @param {number | null} at @returns {Set<number>} */
function edgesBetween(model, state, opened, at) {
  const columns = [...opened].flatMap((number) => model.columnsOf.get(number) ?? []);
  return new Set(columns.flatMap((column) => model.edgesIn.get(column) ?? []).filter((number) => {
    const edge = model.edges[number];
    return opened.has(model.columns[edge.input].dataset) && (state.conditions || edge.kind !== "condition") && model.valid(edge, at);
  }));
}

/** @param {Model} model @param {State} state @param {number} column @param {number | null} at @returns {Selection} */
function alongColumn(model, state, column, at) {
  const up = columnsFrom(model, [column], "up", state.up, at, state.conditions);
  const down = columnsFrom(model, [column], "down", state.down, at, state.conditions);
  const columns = signed(up.distance, down.distance);
  /** @type {Map<number, number>} */
  const datasets = new Map();
  const ordered = [...columns].sort(([, one], [, other]) => Math.abs(one) - Math.abs(other));
  for (const [number, distance] of ordered) {
    const own = model.columns[number].dataset;
    if (!datasets.has(own)) datasets.set(own, distance);
  }
  const edges = new Set([...up.links, ...down.links]);
  if (state.conditions) {
    for (const [number, distance] of [...datasets].filter(([, each]) => each <= 0)) {
      for (const link of model.conditions(number, at)) {
        const edge = model.edges[link];
        edges.add(link);
        const own = model.columns[edge.input].dataset;
        if (!datasets.has(own)) datasets.set(own, distance - 1);
        if (!columns.has(edge.input)) columns.set(edge.input, distance - 1);
        if (!columns.has(edge.output)) columns.set(edge.output, distance);
      }
    }
  }
  const steps = new Set();
  for (const number of edges) {
    const edge = model.edges[number];
    steps.add(`${edge.process} ${model.columns[edge.input].dataset} ${model.columns[edge.output].dataset}`);
  }
  /** @type {Set<number>} */
  const flows = new Set();
  for (const own of datasets.keys()) {
    for (const number of model.flowsIn.get(own) ?? []) {
      const flow = model.flows[number];
      if (model.valid(flow, at) && steps.has(`${flow.process} ${flow.input} ${flow.output}`)) flows.add(number);
    }
  }
  return { datasets, columns, edges, flows, opened: openedCards(model, state, datasets) };
}

/** @param {Model} model @param {State} state @param {number} dataset @param {number | null} at @returns {Selection} */
function aroundDataset(model, state, dataset, at) {
  const up = datasetsFrom(model, [dataset], "up", state.up, at).distance;
  const down = datasetsFrom(model, [dataset], "down", state.down, at).distance;
  const datasets = signed(up, down);
  for (const each of state.more) {
    const start = model.byName.get(each.slice(1));
    if (start === undefined || !datasets.has(start)) continue;
    const way = each.startsWith("<") ? "up" : "down";
    const from = datasets.get(start) ?? 0;
    for (const [node, distance] of datasetsFrom(model, [start], way, 1, at).distance) {
      if (!datasets.has(node)) datasets.set(node, way === "up" ? from - distance : from + distance);
    }
  }
  const opened = openedCards(model, state, datasets);
  return { datasets, columns: null, edges: edgesBetween(model, state, opened, at), flows: flowsBetween(model, datasets, at), opened };
}

/** Return the neighbours of a data set in one direction. @param {Model} model @param {number} dataset @param {"up" | "down"} way
 * @param {number | null} at */
export function neighbours(model, dataset, way, at) {
  const { distance } = datasetsFrom(model, [dataset], way, 1, at);
  distance.delete(dataset);
  return [...distance.keys()];
}
