// SPDX-License-Identifier: Apache-2.0
/**
 * Charts as files: numbers as CSV, drawings as SVG and PNG.
 *
 * @import { Chart } from "./chart"
 */
import { drawn } from "./series.js";

const WIDTH = 760;
const HEIGHT = 150;
const LEFT = 62;
const TOP = 26;
const BOTTOM = 22;
/** Okabe and Ito's palette, as in the report. */
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#808080"];

/** @param {string} text */
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Rows of time, chart, line and value. @param {Chart[]} charts */
export function toCsv(charts) {
  const rows = ["time_us,chart,line,value,unit"];
  for (const { x, title, unit, lines } of charts)
    for (const { label, values } of lines)
      x.forEach((time, at) => rows.push([String(time), quoted(title), quoted(label), String(values[at]), unit].join(",")));
  return `${rows.join("\n")}\n`;
}

/** @param {string} text */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** All charts below each other, black on white, within a range of time. @param {Chart[]} charts
 * @param {[number, number]} range @param {string} title */
export function toSvg(charts, range, title) {
  const [from, to] = range;
  const px = (/** @type {number} */ time) => LEFT + ((time - from) / (to - from || 1)) * (WIDTH - LEFT - 12);
  const parts = charts.map(({ x, lines: given, title: name, unit }, row) => {
    const lines = given.map((line) => ({ ...line, values: drawn(line) }));
    const top = 30 + row * (HEIGHT + 8);
    const inside = x.map((time, at) => at).filter((at) => x[at] >= from && x[at] <= to);
    const most = Math.max(1e-9, ...lines.flatMap(({ values }) => inside.map((at) => values[at])));
    const py = (/** @type {number} */ value) => top + HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
    const paths = lines.map(({ values, dashed }, at) => {
      const points = inside.map((i) => `${px(x[i]).toFixed(1)} ${py(values[i]).toFixed(1)}`);
      return points.length ? `<path d="M${points.join("L")}" fill="none" stroke="${COLOURS[at % COLOURS.length]}" stroke-width="1.5"${dashed ? ' stroke-dasharray="5 3"' : ""}/>` : "";
    });
    const key = lines.map(({ label }, at) => `<tspan fill="${COLOURS[at % COLOURS.length]}" dx="10">${escaped(label)}</tspan>`).join("");
    const low = py(0);
    return `<text x="${LEFT}" y="${top + 14}" font-weight="600">${escaped(name)}, ${escaped(unit)}<tspan font-weight="400">${key}</tspan></text>
<path d="M${LEFT} ${top + TOP}V${low}H${WIDTH - 12}" fill="none" stroke="#888"/>
<text x="${LEFT - 6}" y="${low}" text-anchor="end">0</text><text x="${LEFT - 6}" y="${top + TOP + 6}" text-anchor="end">${Number(most.toPrecision(3))}</text>
<text x="${LEFT}" y="${low + 14}">${Number(from.toPrecision(4))} µs</text><text x="${WIDTH - 12}" y="${low + 14}" text-anchor="end">${Number(to.toPrecision(4))} µs</text>
${paths.join("\n")}`;
  });
  const height = 38 + charts.length * (HEIGHT + 8);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/><text x="${LEFT}" y="18" font-size="14" font-weight="600">${escaped(title)}</text>
${parts.join("\n")}</svg>\n`;
}

/** The drawing as pixels, two for each of its own. @param {string} svg @returns {Promise<Blob>} */
export async function toPng(svg) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("this browser draws no PNG"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Offer a file. @param {Blob} blob @param {string} name */
export function offer(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
