// Place cards in layers from left to right, so that edges point right and few cross. The layered method of Sugiyama,
// Tagawa and Toda (1981), as in shared/lineage/svg.py; columns' order within a card stays.

export const CARD_WIDTH = 224;
export const HEAD_HEIGHT = 64;
export const ROW_HEIGHT = 22;
export const NARROW_GAP = 130;
export const WIDE_GAP = 150;
const CARD_GAP = 26;
const SWEEPS = 8;

/**
 * The input: the heights of the cards by their ids, the arrows between cards, the gap between two layers (wide for
 * curves with badges), and the previous places of cards, which keep their order.
 * @typedef {{heights: Map<string, number>, arrows: [string, string][], gap: number, before: Map<string, {x: number, y: number}>}} Wanted
 * @typedef {Map<string, {x: number, y: number, height: number}>} Places
 */

/** @param {Wanted} wanted @returns {Places} */
export function placedCards({ heights, arrows, gap, before }) {
  const cards = [...heights.keys()];
  const seen = new Set();
  const straight = arrows.filter(([one, other]) => {
    const key = `${one}\n${other}`;
    if (one === other || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
  const layers = layersOf(cards, withoutCircles(cards, straight));
  /** @type {string[][]} */
  const rows = [];
  for (const card of cards) (rows[layers.get(card) ?? 0] ??= []).push(card);
  for (let number = 0; number < rows.length; number += 1) rows[number] ??= [];
  /** @type {Map<string, string[]>} */
  const near = new Map(cards.map((card) => [card, []]));
  for (const [one, other] of straight) {
    near.get(one)?.push(other);
    near.get(other)?.push(one);
  }
  for (const row of rows) row.sort((one, other) => (before.get(one)?.y ?? Infinity) - (before.get(other)?.y ?? Infinity) || 0);
  ordered(rows, near, before);
  return coordinates(rows, heights, near, gap);
}

/** @param {string[]} cards @param {[string, string][]} arrows @returns {[string, string][]} */
function withoutCircles(cards, arrows) {
  /** @type {Map<string, string[]>} */
  const out = new Map(cards.map((card) => [card, []]));
  for (const [one, other] of arrows) out.get(one)?.push(other);
  const done = new Set();
  const open = new Set();
  const turned = new Set();
  for (const start of cards) {
    if (done.has(start)) continue;
    /** @type {{card: string, next: number}[]} */
    const stack = [{ card: start, next: 0 }];
    open.add(start);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const ends = out.get(top.card) ?? [];
      if (top.next < ends.length) {
        const other = ends[top.next];
        top.next += 1;
        if (open.has(other)) turned.add(`${top.card}\n${other}`);
        else if (!done.has(other)) {
          open.add(other);
          stack.push({ card: other, next: 0 });
        }
      } else {
        stack.pop();
        open.delete(top.card);
        done.add(top.card);
      }
    }
  }
  return arrows.map(([one, other]) => (turned.has(`${one}\n${other}`) ? [other, one] : [one, other]));
}

/** @param {string[]} cards @param {[string, string][]} arrows */
function layersOf(cards, arrows) {
  /** @type {Map<string, string[]>} */
  const out = new Map(cards.map((card) => [card, []]));
  /** @type {Map<string, number>} */
  const waiting = new Map(cards.map((card) => [card, 0]));
  for (const [one, other] of arrows) {
    out.get(one)?.push(other);
    waiting.set(other, (waiting.get(other) ?? 0) + 1);
  }
  const inputs = new Map(waiting);
  /** @type {Map<string, number>} */
  const layers = new Map(cards.map((card) => [card, 0]));
  const ready = cards.filter((card) => !waiting.get(card));
  for (let place = 0; place < ready.length; place += 1) {
    for (const other of out.get(ready[place]) ?? []) {
      layers.set(other, Math.max(layers.get(other) ?? 0, (layers.get(ready[place]) ?? 0) + 1));
      const left = (waiting.get(other) ?? 1) - 1;
      waiting.set(other, left);
      if (!left) ready.push(other);
    }
  }
  for (const card of cards) {
    const ends = out.get(card) ?? [];
    if (!inputs.get(card) && ends.length) layers.set(card, Math.min(...ends.map((end) => layers.get(end) ?? 1)) - 1);
  }
  return layers;
}

/** @param {string[][]} rows @param {Map<string, string[]>} near @param {Map<string, {y: number}>} before */
function ordered(rows, near, before) {
  /** @type {Map<string, number>} */
  const place = new Map();
  const note = (/** @type {string[]} */ row) =>
    row.forEach((card, number) => place.set(card, number / Math.max(row.length - 1, 1)));
  rows.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const middle = new Map(row.map((card) => {
        const ends = near.get(card) ?? [];
        const sum = ends.reduce((total, end) => total + (place.get(end) ?? 0), 0);
        return [card, ends.length ? sum / ends.length : place.get(card) ?? 0];
      }));
      row.sort((one, other) => {
        const [first, second] = [before.get(one), before.get(other)];
        if (first && second) return first.y - second.y;
        return (middle.get(one) ?? 0) - (middle.get(other) ?? 0);
      });
      note(row);
    }
  }
}

/** @param {string[][]} rows @param {Map<string, number>} heights @param {Map<string, string[]>} near @param {number} gap */
function coordinates(rows, heights, near, gap) {
  /** @type {Map<string, number>} */
  const top = new Map();
  const height = (/** @type {string} */ card) => heights.get(card) ?? HEAD_HEIGHT;
  for (const row of rows) {
    let y = 0;
    for (const card of row) {
      top.set(card, y);
      y += height(card) + CARD_GAP;
    }
  }
  const middle = (/** @type {string} */ card) => (top.get(card) ?? 0) + height(card) / 2;
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const wanted = row.map((card) => {
        const ends = near.get(card) ?? [];
        const centre = ends.length ? ends.reduce((sum, end) => sum + middle(end), 0) / ends.length : middle(card);
        return centre - height(card) / 2;
      });
      packed(row, wanted, height, top);
    }
  }
  const lowest = Math.min(0, ...top.values());
  /** @type {Map<string, {x: number, y: number, height: number}>} */
  const found = new Map();
  rows.forEach((row, layer) => {
    for (const card of row) {
      found.set(card, { x: layer * (CARD_WIDTH + gap), y: (top.get(card) ?? 0) - lowest, height: height(card) });
    }
  });
  return found;
}

/** Give the cards of a layer their wanted places in order; move whole blocks that would overlap.
 * @param {string[]} row @param {number[]} wanted @param {(card: string) => number} height @param {Map<string, number>} top */
function packed(row, wanted, height, top) {
  /** @type {{cards: string[], wishes: number, height: number}[]} */
  const blocks = [];
  row.forEach((card, number) => {
    let block = { cards: [card], wishes: wanted[number], height: height(card) + CARD_GAP };
    for (;;) {
      const last = blocks[blocks.length - 1];
      if (!last || last.wishes / last.cards.length + last.height <= block.wishes / block.cards.length) break;
      blocks.pop();
      block = {
        cards: last.cards.concat(block.cards),
        wishes: last.wishes + block.wishes - last.height * block.cards.length,
        height: last.height + block.height,
      };
    }
    blocks.push(block);
  });
  for (const block of blocks) {
    let y = block.wishes / block.cards.length;
    for (const card of block.cards) {
      top.set(card, y);
      y += height(card) + CARD_GAP;
    }
  }
}
