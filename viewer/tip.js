// What a part of the picture means, beside it while the mouse is over it or the focus on it.

const AWAY = 12;

export class Tip {
  /** @param {HTMLElement} stage @param {HTMLElement} tip */
  constructor(stage, tip) {
    this.stage = stage;
    this.tip = tip;
    stage.addEventListener("pointerover", (event) => this.show(event.target, event.clientX, event.clientY));
    stage.addEventListener("focusin", (event) => {
      const { left, bottom } = /** @type {Element} */ (event.target).getBoundingClientRect();
      this.show(event.target, left, bottom - AWAY);
    });
    for (const name of ["pointerleave", "pointerdown", "focusout", "wheel"]) stage.addEventListener(name, () => this.hide(), { passive: true });
  }

  hide() {
    this.tip.hidden = true;
  }

  /** Show the text of an element or of one around it. @param {EventTarget | null} target @param {number} x @param {number} y of the window */
  show(target, x, y) {
    const text = /** @type {Element} */ (target).closest("[data-tip]")?.getAttribute("data-tip");
    if (!text) return this.hide();
    this.tip.textContent = text;
    this.tip.hidden = false;
    const box = this.stage.getBoundingClientRect();
    const [left, top] = [x - box.left + AWAY, y - box.top + AWAY];
    const isLow = top + this.tip.offsetHeight > box.height;
    this.tip.style.left = `${Math.max(0, Math.min(left, box.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${Math.max(0, isLow ? top - this.tip.offsetHeight - 2 * AWAY : top)}px`;
  }
}
