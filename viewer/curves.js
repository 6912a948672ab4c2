// The shape of curves, and places on them where badges do not overlap.

import { widthOf } from "./measured.js";

/**
 * @typedef {{x1: number, y1: number, x2: number, y2: number}} Ends
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 * @typedef {Ends & {from: string, to: string, text: string, at: number}} Labelled
 */

const MAX_HALVINGS = 6;
const MIDDLE = 0.5;
const NEAR_START = 0.3;
const STEP = 0.04;
const LAST = 0.9;
const HALF_BADGE = 9;
export const NO_PLACE = -1;

/** @param {Ends} curve */
function bendOf({ x1, x2 }) {
  return (x2 >= x1 ? 1 : -1) * Math.max(50, Math.abs(x2 - x1) / 2);
}

/** A curve's path in SVG. @param {Ends} curve */
export function pathOf(curve) {
  const { x1, y1, x2, y2 } = curve;
  const bend = bendOf(curve);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

/** Add the part of a curve in a box to a canvas' path: invisible dashes would cost as much as visible ones.
 * @param {CanvasRenderingContext2D} context @param {Ends} curve @param {Box} box */
export function traced(context, { x1, y1, x2, y2 }, box) {
  const bend = bendOf({ x1, y1, x2, y2 });
  tracePart(context, [x1, x1 + bend, x2 - bend, x2], [y1, y1, y2, y2], box, MAX_HALVINGS);
}

/** A cubic lies within the box of its four points. @param {CanvasRenderingContext2D} context @param {number[]} xs
 * @param {number[]} ys @param {Box} box @param {number} halvings how often it may still be halved */
function tracePart(context, xs, ys, box, halvings) {
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (right < box.left || left > box.right || bottom < box.top || top > box.bottom) return;
  const isWithin = left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
  if (isWithin || !halvings) {
    context.moveTo(xs[0], ys[0]);
    context.bezierCurveTo(xs[1], ys[1], xs[2], ys[2], xs[3], ys[3]);
    return;
  }
  const [x, y] = [halved(xs), halved(ys)];
  tracePart(context, x.slice(0, 4), y.slice(0, 4), box, halvings - 1);
  tracePart(context, x.slice(3), y.slice(3), box, halvings - 1);
}

/** The seven coordinates of a cubic's two halves, which share the one in the middle (de Casteljau).
 * @param {number[]} four */
function halved([a, b, c, d]) {
  const [ab, bc, cd] = [(a + b) / 2, (b + c) / 2, (c + d) / 2];
  const [abc, bcd] = [(ab + bc) / 2, (bc + cd) / 2];
  return [a, ab, abc, (abc + bcd) / 2, bcd, cd, d];
}

/** A point of a curve, from 0 at its start to 1 at its end (Bernstein's form of a cubic). @param {Ends} curve @param {number} t */
export function pointOn(curve, t) {
  const { x1, y1, x2, y2 } = curve;
  const bend = bendOf(curve);
  const weights = [(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t ** 2, t ** 3];
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value, place) => total + value * weights[place], 0);
  return [sum([x1, x1 + bend, x2 - bend, x2]), sum([y1, y1, y2, y2])];
}

/** Put each curve's badge near the end that fewer curves share, or on the nearest place of the curve without overlap
 * with another badge or a card. A text without room is left out, and so is a badge: `at` is then NO_PLACE.
 * @param {Labelled[]} curves @param {Box[]} cards */
export function placeBadges(curves, cards) {
  /** @type {Map<string, number>} */
  const shared = new Map();
  for (const curve of curves) {
    for (const end of [`${curve.from} out`, `${curve.to} in`]) shared.set(end, (shared.get(end) ?? 0) + 1);
  }
  const taken = [...cards];
  for (const curve of curves) {
    const many = (shared.get(`${curve.from} out`) ?? 0) > (shared.get(`${curve.to} in`) ?? 0);
    const places = placesAround(many ? 1 - NEAR_START : NEAR_START);
    const boxAt = (/** @type {number} */ at) => {
      const [x, y] = pointOn(curve, at);
      return { left: x - HALF_BADGE, right: x + HALF_BADGE + (curve.text ? widthOf(curve.text, "small") + 4 : 0), top: y - HALF_BADGE, bottom: y + HALF_BADGE };
    };
    const isFree = (/** @type {number} */ at) => {
      const box = boxAt(at);
      return taken.every((other) => box.left > other.right || box.right < other.left || box.top > other.bottom || box.bottom < other.top);
    };
    let place = places.find(isFree);
    if (place === undefined && curve.text) {
      curve.text = "";
      place = places.find(isFree);
    }
    curve.at = place ?? NO_PLACE;
    if (place !== undefined) taken.push(boxAt(place));
  }
}

/** @param {number} wanted @returns {number[]} places of a curve, the nearest to this first */
function placesAround(wanted) {
  const places = [wanted];
  for (let step = STEP; step <= LAST; step += STEP) {
    const inwards = wanted < MIDDLE ? step : -step;
    places.push(...[wanted + inwards, wanted - inwards].filter((at) => at > 1 - LAST && at < LAST));
  }
  return places;
}
