// The state of the page, all of it in the address, so that back, forward and a copied link work.

/**
 * @typedef {{asset: string, column: string, up: number | null, down: number | null, at: string, compare: string,
 *   conditions: boolean, view: "map" | "impact" | "estate", group: string, open: string[], more: string[],
 *   process: string, stars: string[], seen: string[]}} State
 */

const SEEN = 8;
const LISTS = /** @type {const} */ (["open", "more", "stars", "seen"]);

/** @param {string} text the address after `#` @returns {State} */
export function parsedState(text) {
  const values = new URLSearchParams(text);
  const column = values.get("column") ?? "";
  const view = values.get("view") ?? "";
  return {
    asset: values.get("asset") ?? "",
    column,
    up: steps(values.get("up"), column),
    down: steps(values.get("down"), column),
    at: values.get("at") ?? "",
    compare: values.get("compare") ?? "",
    conditions: values.get("conditions") === "1",
    view: view === "impact" || view === "estate" ? view : "map",
    group: values.get("group") ?? "store",
    process: values.get("process") ?? "",
    open: values.getAll("open"),
    more: values.getAll("more"),
    stars: values.getAll("stars"),
    seen: values.getAll("seen"),
  };
}

/** Return a number of steps: by default all for a column, one for a data set. @param {string | null} text @param {string} column */
function steps(text, column) {
  if (text === "all") return null;
  const number = Number.parseInt(text ?? "", 10);
  if (Number.isFinite(number) && number >= 0) return number;
  return column ? null : 1;
}

/** @param {State} state @returns {string} the address without `#` */
export function formattedState(state) {
  const values = new URLSearchParams();
  const standard = state.column ? null : 1;
  for (const name of /** @type {const} */ (["asset", "column"])) if (state[name]) values.set(name, state[name]);
  for (const name of /** @type {const} */ (["up", "down"])) {
    if (state[name] !== standard) values.set(name, state[name] === null ? "all" : String(state[name]));
  }
  for (const name of /** @type {const} */ (["at", "compare", "process"])) if (state[name]) values.set(name, state[name]);
  if (state.conditions) values.set("conditions", "1");
  if (state.view !== "map") values.set("view", state.view);
  if (state.group !== "store") values.set("group", state.group);
  for (const name of LISTS) for (const each of state[name]) values.append(name, each);
  return values.toString();
}

/** Return the state after choosing a data set or a column of it. @param {State} state @param {string} asset @param {string} column
 * @returns {State} */
export function chosen(state, asset, column) {
  const standard = column ? null : 1;
  return {
    ...state, asset, column, up: standard, down: standard, view: "map", open: [], more: [], process: "",
    seen: [asset, ...state.seen.filter((each) => each !== asset)].slice(0, SEEN),
  };
}

/** Return the list with this text added, or removed if it was there. @param {string[]} list @param {string} text */
export function toggled(list, text) {
  return list.includes(text) ? list.filter((each) => each !== text) : [...list, text];
}
