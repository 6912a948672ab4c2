// The search box with its list of results (ARIA's combobox pattern).

import { element } from "./elements.js";
import { TEXTS } from "./texts.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./search.js").SearchIndex} SearchIndex
 */

const OPTION = "result-";

export class SearchBox {
  /** @param {HTMLInputElement} input @param {HTMLElement} list @param {Model} model @param {SearchIndex} index
   * @param {(asset: string, column: string) => void} choose */
  constructor(input, list, model, index, choose) {
    Object.assign(this, { input, list, model, index, choose });
    this.input = input;
    this.list = list;
    this.model = model;
    this.index = index;
    this.choose = choose;
    this.active = -1;
    input.addEventListener("input", () => this.show());
    input.addEventListener("focus", () => this.show());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.hide());
    list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const option = /** @type {HTMLElement} */ (event.target).closest("[role=option]");
      if (option) this.take(/** @type {HTMLElement} */ (option));
    });
  }

  show() {
    const text = this.input.value;
    const found = this.index.find(text);
    this.active = -1;
    this.list.replaceChildren(...found.map((each, place) => {
      const dataset = this.model.datasets[each.dataset];
      const column = each.column === null ? "" : this.model.columns[each.column].name;
      return element("li", { role: "option", id: `${OPTION}${place}`, "aria-selected": "false", "data-dataset": dataset.qualified_name, "data-column": column },
        element("strong", {}, column || dataset.name), element("span", {}, column ? `${TEXTS.column} · ${dataset.name}` : TEXTS.dataset),
        element("small", {}, this.model.parentOf(each.dataset)));
    }));
    if (text.trim() && !found.length) this.list.append(element("li", {}, TEXTS.noResult));
    this.list.hidden = !text.trim();
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.input.removeAttribute("aria-activedescendant");
  }

  hide() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const options = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("[role=option]")]);
    if (event.key === "Escape") {
      this.hide();
      this.input.blur();
    } else if (event.key === "Enter" && options.length) this.take(options[Math.max(this.active, 0)]);
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && options.length) {
      this.active = (this.active + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
      options.forEach((each, place) => each.setAttribute("aria-selected", String(place === this.active)));
      this.input.setAttribute("aria-activedescendant", options[this.active].id);
      options[this.active].scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {HTMLElement} option */
  take(option) {
    this.input.value = "";
    this.hide();
    this.input.blur();
    this.choose(option.dataset.dataset ?? "", option.dataset.column ?? "");
  }
}
