// SPDX-License-Identifier: Apache-2.0
/**
 * Charts as a drawing, black on white: one chart as wide as a slide, or all below each other.
 *
 * @import { Chart, Line } from "./chart"
 */
import { drawn } from "./series.js";

/** Okabe and Ito's palette, as in the report. */
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#808080"];

/** Sizes in pixels: of the whole slide, and of each chart of a sheet. */
const SHEET = { width: 760, height: 150, font: 11, stroke: 1.5, ticks: 3 };
const SLIDE = { width: 960, height: 540, font: 18, stroke: 2.5, ticks: 6 };
const [LETTER, BOLD] = [0.56, 0.68]; // width of a letter, in heights of the font

/** @typedef {{t: number, text: string}} Mark a fault and its time in µs */

/** @param {string} text */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Round values at even distances from one value to another, about as many as asked for.
 * @param {number} from @param {number} to @param {number} count */
export function ticksOf(from, to, count) {
  const rough = (to - from) / count;
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  return [...Array(Math.floor(to / step + 1e-9) - first + 1).keys()].map((at) => Number(((first + at) * step).toPrecision(12)));
}

/** Labels of lines in rows that fit a width, each with a piece of its line. @param {Line[]} lines
 * @param {{left: number, right: number, font: number, stroke: number}} place */
function keyOf(lines, { left, right, font, stroke }) {
  let [x, row] = [left, 0];
  const parts = lines.map(({ label, dashed }, at) => {
    const width = font * (2.6 + LETTER * label.length);
    if (x > left && x + width > right) [x, row] = [left, row + 1];
    const [begin, above] = [x, row * font * 1.4];
    x += width + font;
    return (/** @type {number} */ top) => {
      const y = top + above;
      return `<line x1="${begin}" x2="${begin + 2 * font}" y1="${y - font * 0.35}" y2="${y - font * 0.35}" stroke="${COLOURS[at % COLOURS.length]}" stroke-width="${stroke}"${dash(dashed)}/>
<text x="${begin + 2.4 * font}" y="${y}">${escaped(label)}</text>`;
    };
  });
  return { rows: lines.length ? row + 1 : 0, draw: (/** @type {number} */ top) => parts.map((part) => part(top)).join("\n") };
}

const dash = (/** @type {boolean | undefined} */ dashed) => (dashed ? ' stroke-dasharray="6 4"' : "");

/** All charts within a range of time, with a title and marks of faults; a single chart fills a slide.
 * @param {Chart[]} charts @param {[number, number]} range in µs @param {string} title @param {Mark[]} [marks] */
export function toSvg(charts, range, title, marks = []) {
  const [from, to] = range;
  const alone = charts.length === 1;
  const { width, height, font, stroke, ticks } = alone ? SLIDE : SHEET;
  const [left, right] = [font * 4.6, width - font * 2];
  const px = (/** @type {number} */ time) => left + ((time - from) / (to - from || 1)) * (right - left);
  const struck = marks.filter(({ t }) => t >= from && t <= to);
  let bottom = font * 2.9;
  const parts = charts.map(({ x, lines: given, title: name, unit }) => {
    const lines = given.map((line) => ({ ...line, values: drawn(line) }));
    const key = keyOf(lines.length > 1 ? lines : [], { left, right, font, stroke });
    const head = bottom + font * 1.3;
    const top = head + font * (1.4 * key.rows + (alone && struck.length ? 1.9 : 0.7));
    const low = alone ? height - font * 3.6 : top + height - font * 4.5;
    bottom = low + font * 2.6;
    const inside = x.map((time, at) => at).filter((at) => x[at] >= from && x[at] <= to);
    const most = Math.max(...lines.flatMap(({ values }) => inside.map((at) => values[at])), 0) || 1;
    const py = (/** @type {number} */ value) => low - (value / most) * (low - top);
    const paths = lines.map(({ values, dashed }, at) => {
      const points = inside.map((i) => `${px(x[i]).toFixed(1)} ${py(values[i]).toFixed(1)}`);
      return points.length ? `<path d="M${points.join("L")}" fill="none" stroke="${COLOURS[at % COLOURS.length]}" stroke-width="${stroke}"${dash(dashed)}/>` : "";
    });
    const rows = ticksOf(0, most, ticks).map((value) => `<line x1="${left}" x2="${right}" y1="${py(value)}" y2="${py(value)}" stroke="#ddd"/>
<text x="${left - font / 2}" y="${py(value) + font * 0.35}" text-anchor="end">${value.toLocaleString("en")}</text>`);
    const times = ticksOf(from, to, 2 * ticks).map((value) =>
      `<text x="${px(value)}" y="${low + font * 1.4}" text-anchor="middle">${value.toLocaleString("en")}</text>`);
    const faults = struck.map(({ t, text }, at) => `<line x1="${px(t)}" x2="${px(t)}" y1="${top - (alone ? font * 0.4 : 0)}" y2="${low}" stroke="#c8400a" stroke-dasharray="3 3"/>
${alone && at === 0 ? `<text x="${px(t)}" y="${top - font * 0.7}" fill="#c8400a" text-anchor="${t - from > (to - from) / 2 ? "end" : "start"}">${escaped(text)}</text>` : ""}`);
    return `<text x="${left}" y="${head}" font-weight="600">${escaped(name)}, ${escaped(unit)}</text>
${key.draw(head + font * 1.5)}
${rows.join("\n")}
<path d="M${left} ${top}V${low}H${right}" fill="none" stroke="#888"/>
${times.join("\n")}<text x="${right}" y="${low + font * 2.6}" text-anchor="end">time, µs</text>
${faults.join("\n")}
${paths.join("\n")}`;
  });
  const all = alone ? height : Math.round(bottom + font);
  const large = Math.min(font * 1.25, (right - left) / (BOLD * title.length));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${all}" viewBox="0 0 ${width} ${all}" font-family="system-ui, sans-serif" font-size="${font}">
<rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="${font * 1.8}" font-size="${large.toFixed(1)}" font-weight="600">${escaped(title)}</text>
${parts.join("\n")}</svg>\n`;
}
