// The state of the page, all of it in the address, so that back, forward and a copied link work.

/**
 * @typedef {"map" | "impact" | "estate"} ViewName
 * @typedef {{asset: string, column: string, up: number | null, down: number | null, at: string, compare: string,
 *   conditions: boolean, tables: boolean, view: ViewName, group: string, open: string[], more: string[],
 *   process: string, text: string, only: string, tag: string, owner: string, sort: string}} State `tables`: cards without
 *   columns. `text`, `only`, `tag`, `owner` and `sort` filter and order the table of all data
 */

const TEXT_FIELDS = /** @type {const} */ (["asset", "column", "at", "compare", "process", "text", "only", "tag", "owner"]);
const FLAGS = /** @type {const} */ (["conditions", "tables"]);
const LISTS = /** @type {const} */ (["open", "more"]);

/** @param {string} text the address after `#` @returns {State} */
export function parsedState(text) {
  const values = new URLSearchParams(text);
  const view = /** @type {ViewName} */ (["impact", "estate"].find((name) => name === values.get("view")) ?? "map");
  const column = values.get("column") ?? "";
  const standard = standardSteps(view, column);
  return /** @type {State} */ ({
    ...Object.fromEntries(TEXT_FIELDS.map((name) => [name, values.get(name) ?? ""])),
    ...Object.fromEntries(FLAGS.map((name) => [name, values.get(name) === "1"])),
    ...Object.fromEntries(LISTS.map((name) => [name, values.getAll(name)])),
    up: steps(values.get("up"), standard), down: steps(values.get("down"), standard), view,
    group: values.get("group") ?? "store", sort: values.get("sort") ?? "newest",
  });
}

/** The number of steps shown by default: all for a column and for the impact, one for a data set. @param {ViewName} view
 * @param {string} column */
function standardSteps(view, column) {
  return column || view === "impact" ? null : 1;
}

/** @param {string | null} text @param {number | null} standard */
function steps(text, standard) {
  if (text === "all") return null;
  const number = Number.parseInt(text ?? "", 10);
  return Number.isFinite(number) && number >= 0 ? number : standard;
}

/** @param {State} state @returns {string} the address without `#` */
export function formattedState(state) {
  const values = new URLSearchParams();
  const standard = standardSteps(state.view, state.column);
  for (const name of TEXT_FIELDS) if (state[name]) values.set(name, state[name]);
  for (const name of /** @type {const} */ (["up", "down"])) {
    if (state[name] !== standard) values.set(name, state[name] === null ? "all" : String(state[name]));
  }
  for (const name of FLAGS) if (state[name]) values.set(name, "1");
  if (state.view !== "map") values.set("view", state.view);
  if (state.group !== "store") values.set("group", state.group);
  if (state.sort !== "newest") values.set("sort", state.sort);
  for (const name of LISTS) for (const item of state[name]) values.append(name, item);
  return values.toString();
}

/** Return the state after choosing a data set or a column of it. @param {State} state @param {string} asset @param {string} column
 * @returns {State} */
export function chosen(state, asset, column) {
  return viewed({ ...state, asset, column, open: [], more: [], process: "" }, "map");
}

/** Return the state in another view, with its number of steps. @param {State} state @param {ViewName} view @returns {State} */
export function viewed(state, view) {
  const standard = standardSteps(view, state.column);
  return { ...state, view, up: standard, down: standard };
}

/** Return the list with this text added, or removed if it was there. @param {string[]} list @param {string} text */
export function toggled(list, text) {
  return list.includes(text) ? list.filter((item) => item !== text) : [...list, text];
}
