// The page: it reads the document, and shows the state of its address.

import { button, byId, element, saved } from "./elements.js";
import { Favourites } from "./favourites.js";
import { Model, unpacked } from "./model.js";
import { overview } from "./overview.js";
import { changesBetween, changesPanel, columnChanges, columnPanel, datasetPanel, impactPanel, processPanel, signsPanel, startPanel } from "./panels.js";
import { Picture } from "./picture.js";
import { SearchIndex } from "./search.js";
import { SearchBox } from "./searchbox.js";
import { selected } from "./select.js";
import { chosen, formattedState, parsedState, toggled, viewed } from "./state.js";
import { TEXTS, moment, timeInAddress } from "./texts.js";
import { Tip } from "./tip.js";
import { pathTree } from "./tree.js";
import { visible } from "./visible.js";

/**
 * @typedef {import("./state.js").State} State
 * @typedef {import("./select.js").Selection} Selection
 */

const MOST_TICKS = 500;
/** Choices of the number of steps in the picture; null: all. */
const DEPTHS = [1, 2, 3, null];

class Page {
  /** @param {Model} model @param {string} start @param {string} made when the file was written; empty for a served page */
  constructor(model, start, made) {
    this.model = model;
    this.start = start;
    this.favourites = new Favourites();
    /** @type {State} */
    this.state = parsedState(start);
    this.picture = new Picture(model, byId("layout").textContent ?? "");
    const { camera } = this.picture;
    this.actions = { choose: this.choose.bind(this), change: this.change.bind(this), star: this.star.bind(this) };
    this.tip = new Tip(byId("stage"), byId("tip"));
    new SearchBox(byId("search"), byId("results"), model, new SearchIndex(model), this.actions.choose);
    window.addEventListener("popstate", () => this.render());
    document.addEventListener("keydown", (event) => this.key(event));
    byId("picture").addEventListener("click", (/** @type {MouseEvent} */ event) => this.click(event));
    byId("canvas").addEventListener("click", (/** @type {MouseEvent} */ event) => this.clickOnCanvas(event));
    for (const view of byId("views").querySelectorAll("button")) view.addEventListener("click", () => this.change({ view: view.dataset.view }));
    byId("conditions").addEventListener("click", () => this.change({ conditions: !this.state.conditions }));
    byId("columns").addEventListener("click", () => this.change({ tables: !this.state.tables, open: [] }));
    byId("help").addEventListener("click", () => byId("signs").showModal());
    byId("signs").append(button(TEXTS.close, () => byId("signs").close(), { autofocus: true }), ...signsPanel());
    const newest = model.times.at(-1);
    byId("source").append(visible([`${TEXTS.of} ${TEXTS.sources[/** @type {"lake"} */ (model.source)] ?? model.source}`, newest ? `${TEXTS.upTo} ${moment(newest)}` : "",
      made ? `${TEXTS.fileWritten} ${moment(Date.parse(made))}` : ""].filter(Boolean).join(" · ")));
    byId("tools").append(
      element("span", { id: "depths", role: "group", "aria-label": TEXTS.depth }, `${TEXTS.depth} `,
        ...DEPTHS.map((depth) => button(String(depth ?? TEXTS.all), () => this.change({ up: depth, down: depth }), { "data-steps": String(depth) }))),
      button("+", () => camera.zoom(1.25), { "aria-label": TEXTS.zoomIn }), button("−", () => camera.zoom(0.8), { "aria-label": TEXTS.zoomOut }),
      button("Fit", () => camera.fit(), { title: TEXTS.fit }),
      button("PNG", () => this.picture.png().then((content) => content && saved("lineage.png", content)), { title: TEXTS.png }));
    this.prepareTimes();
  }

  /** Fill the slider and the choice of the time to compare with, if there is history. */
  prepareTimes() {
    const { model } = this;
    const moments = [...model.changes.keys()];
    byId("times").hidden = !model.history || !moments.length;
    if (!model.history || !moments.length) return;
    const slider = byId("time");
    // By time, with now at the end, a little after the last change.
    const end = Math.max(moments[moments.length - 1], model.times[model.times.length - 1]) + Math.max(1, (moments[moments.length - 1] - moments[0]) / 20);
    Object.assign(slider, { min: moments[0], max: end, step: "any", value: end });
    byId("changes").append(...moments.slice(-MOST_TICKS).map((time) => element("option", { value: time })));
    const show = (/** @type {number} */ place) => this.change({ at: place < moments.length ? timeInAddress(moments[Math.max(0, place)]) : "" }, true);
    const nearest = () => [...moments, end].map((time, place) => [Math.abs(time - Number(slider.value)), place]).reduce((best, item) => (item[0] < best[0] ? item : best))[1];
    slider.addEventListener("input", () => show(nearest()));
    slider.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(nearest() + step);
    });
    const compare = byId("compare");
    compare.append(element("option", { value: "" }, TEXTS.noCompare), ...moments.map((time) => element("option", { value: timeInAddress(time) }, moment(time))));
    compare.addEventListener("change", () => this.change({ compare: compare.value }));
  }

  /** @param {string} asset @param {string} column */
  choose(asset, column) {
    this.favourites.note(asset);
    this.go(chosen(this.state, asset, column));
  }

  /** Choose from the path as a list, and keep the focus in it. @param {string} asset @param {string} column */
  chooseInTree(asset, column) {
    this.choose(asset, column);
    byId("panel").querySelector("[role=treeitem]")?.focus();
  }

  /** @param {Partial<State>} part @param {boolean} [replace] whether back does not return to the state before */
  change(part, replace = false) {
    const state = part.view && part.view !== this.state.view ? viewed(this.state, part.view) : this.state;
    this.go({ ...state, ...part }, replace);
  }

  /** Add a data set to the favourites, or remove it. @param {string} name */
  star(name) {
    this.favourites.toggle(name);
    this.render();
  }

  /** @param {State} state @param {boolean} [replace] */
  go(state, replace = false) {
    const address = `#${formattedState(state)}`;
    if (replace || address === location.hash) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.render();
  }

  get at() {
    return this.state.at ? Date.parse(this.state.at) : null;
  }

  render() {
    this.state = parsedState(location.hash.length > 1 ? location.hash.slice(1) : this.start);
    const wrong = this.withoutWrongTimes();
    const { model, state } = this;
    const dataset = model.byName.get(state.asset);
    const column = dataset === undefined || !state.column ? undefined : model.column(dataset, state.column);
    const view = { model, state, at: this.at, actions: this.actions, lists: this.favourites.lists };
    document.title = visible(state.asset ? `${state.column ? `${state.column} · ` : ""}${model.datasets[dataset ?? -1]?.name ?? state.asset}` : "Lineage");
    this.showControls();
    const changes = state.compare ? changesBetween(model, Date.parse(state.compare), this.at) : new Map();
    const isKnown = dataset !== undefined && (!state.column || column !== undefined);
    /** @type {(Node | string)[]} */
    let content;
    if (state.view === "estate" || !state.asset) content = startPanel(view);
    else if (dataset === undefined) content = [element("p.error", { role: "alert" }, `${TEXTS.unknownAsset} ${state.asset}`), ...startPanel(view)];
    else if (!isKnown) content = [element("p.error", { role: "alert" }, `${TEXTS.unknownColumn} ${state.column}`), ...datasetPanel(view, dataset)];
    else if (state.view === "impact") content = impactPanel(view, dataset, column);
    else content = column === undefined ? datasetPanel(view, dataset) : columnPanel(view, dataset, column);
    const process = state.process ? model.processes.findIndex((each) => each.qualified_name === state.process) : -1;
    if (process >= 0) content = processPanel(view, process);
    else if (state.compare) content = [...changesPanel(view, changes, columnChanges(model, Date.parse(state.compare), this.at), state.view === "estate" ? undefined : dataset), ...content];
    const selection = dataset === undefined || !isKnown ? null : this.selection(dataset, column);
    const isEstate = state.view === "estate" || !selection;
    if (selection && !isEstate && dataset !== undefined && process < 0 && state.view === "map") content.push(element("h3", {}, TEXTS.path), pathTree(model, selection, dataset, column, this.chooseInTree.bind(this)));
    byId("panel").replaceChildren(...wrong, ...content);
    this.tip.hide();
    byId("stage").hidden = isEstate;
    byId("overview").hidden = !isEstate;
    byId("modes").hidden = isEstate;
    const focused = document.activeElement?.id;
    byId("overview").replaceChildren(...(isEstate ? overview(view) : []));
    if (focused) byId(focused)?.focus();
    if (focused === "filter") byId(focused)?.setSelectionRange(state.text.length, state.text.length);
    this.picture.draw(state, isEstate ? null : selection, this.at, changes);
  }

  /** Remove invalid times from the state. @returns {Node[]} the messages about them */
  withoutWrongTimes() {
    const { model, state } = this;
    const given = [state.at, state.compare].filter(Boolean);
    const wrong = model.history ? given.filter((each) => Number.isNaN(Date.parse(each))) : given;
    if (!wrong.length) return [];
    const kept = (/** @type {string} */ text) => (wrong.includes(text) ? "" : text);
    this.state = { ...state, at: kept(state.at), compare: kept(state.compare) };
    return [element("p.error", { role: "alert" }, model.history ? `${TEXTS.noTime} ${wrong.join(", ")}` : TEXTS.noHistory)];
  }

  /** Return what is shown; with a comparison the lineage of both times. @param {number} dataset @param {number | undefined} column @returns {Selection} */
  selection(dataset, column) {
    const now = selected(this.model, this.state, dataset, column, this.at);
    if (!this.state.compare) return now;
    const then = selected(this.model, this.state, dataset, column, Date.parse(this.state.compare));
    return {
      datasets: new Map([...then.datasets, ...now.datasets]), columns: now.columns && new Map([...(then.columns ?? []), ...now.columns]),
      opened: new Set([...then.opened, ...now.opened]), edges: new Set([...then.edges, ...now.edges]), flows: new Set([...then.flows, ...now.flows]),
    };
  }

  showControls() {
    const { state, model } = this;
    for (const each of byId("views").querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(each.dataset.view === (state.asset ? state.view : "estate")));
      each.disabled = !state.asset && each.dataset.view !== "estate";
    }
    byId("conditions").setAttribute("aria-pressed", String(state.conditions));
    byId("columns").setAttribute("aria-pressed", String(!state.tables));
    for (const each of byId("depths").querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(each.dataset.steps === String(state.down) && (state.up === state.down || state.view === "impact")));
    }
    const at = this.at;
    byId("time").value = String(at ?? byId("time").max);
    byId("time").setAttribute("aria-valuetext", at === null ? TEXTS.now : moment(at));
    byId("timeText").textContent = at === null ? TEXTS.now : moment(at);
    const compare = byId("compare");
    if (state.compare && ![...compare.options].some((each) => each.value === state.compare)) {
      compare.append(element("option", { value: state.compare }, moment(Date.parse(state.compare))));
    }
    compare.value = state.compare;
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (this.picture.camera.dragged) return;
    this.activate(/** @type {Element} */ (event.target));
  }

  /** Run the action of a part of the picture. @param {Element} target @returns {boolean} */
  activate(target) {
    const hit = target.closest("[data-more],[data-fold],[data-number],[data-process],[data-head]");
    if (!hit) return false;
    const { state, model } = this;
    const value = (/** @type {string} */ name) => hit.getAttribute(name);
    const [more, fold, number, process, head] = ["data-more", "data-fold", "data-number", "data-process", "data-head"].map(value);
    if (more !== null) this.showMore(more);
    else if (fold !== null) this.fold(fold);
    else if (number !== null) {
      const column = model.columns[Number(number)];
      this.choose(model.datasets[column.dataset].qualified_name, column.name);
    } else if (process) this.change({ process: state.process === process ? "" : process });
    else if (head !== null) this.choose(head, "");
    return true;
  }

  /** Show or hide neighbours of a card; while a column is followed, its table is shown instead. @param {string} more */
  showMore(more) {
    if (this.state.column) this.choose(more.slice(1), "");
    else this.change({ more: toggled(this.state.more, more) });
  }

  /** Switch the columns of a card: none, the first, all. @param {string} name */
  fold(name) {
    const card = this.picture.scene.cards.find((item) => this.model.datasets[item.dataset].qualified_name === name);
    const others = this.state.open.filter((item) => ![name, `*${name}`, `-${name}`].includes(item));
    if (!card?.open) this.change({ open: [...others, name] });
    else if (card.hiddenRows) this.change({ open: [...others, name, `*${name}`] });
    else this.change({ open: [...others, `-${name}`] });
  }

  /** @param {MouseEvent} event */
  clickOnCanvas(event) {
    if (this.picture.camera.dragged) return;
    const hit = this.picture.hit(event);
    if (hit) this.choose(this.model.datasets[hit.card.dataset].qualified_name, hit.column === null ? "" : this.model.columns[hit.column].name);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (byId("signs").open) return;
    const card = byId("picture").contains(target) && target.closest("[data-dataset]")?.getAttribute("data-dataset") || this.state.asset;
    const inPicture = byId("stage").contains(target) || target === document.body;
    /** @type {Record<string, () => void>} */
    const actions = {
      "/": () => byId("search").focus(), "?": () => byId("signs").showModal(), m: () => this.change({ view: "map" }), i: () => this.change({ view: "impact" }),
      e: () => this.change({ view: "estate" }), c: () => this.change({ conditions: !this.state.conditions }),
      t: () => byId("panel").querySelector("[role=treeitem]")?.focus(), Escape: () => this.change({ process: "" }),
    };
    if (card) {
      actions.x = () => this.fold(card);
      actions["["] = () => this.showMore(`<${card}`);
      actions["]"] = () => this.showMore(`>${card}`);
    }
    if ((event.key === "Enter" || event.key === " ") && byId("picture").contains(target)) {
      if (!this.activate(target)) return;
    } else if (actions[event.key]) actions[event.key]();
    else if (!inPicture || !this.picture.camera.key(event.key)) return;
    event.preventDefault();
  }

}

async function begin() {
  const data = byId("data");
  if (typeof DecompressionStream === "undefined") throw new Error(TEXTS.tooOld);
  let found;
  try {
    found = await unpacked(data.textContent ?? "");
  } catch {
    throw new Error(TEXTS.unreadable);
  }
  data.remove();
  const page = new Page(new Model(found), data.dataset.start ?? "", data.dataset.made ?? "");
  page.render();
  document.documentElement.dataset.ready = "true";
}

begin().catch((/** @type {Error} */ error) => {
  byId("panel").replaceChildren(element("p.error", { role: "alert" }, error.message));
});
