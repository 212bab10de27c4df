// SPDX-License-Identifier: Apache-2.0
/**
 * Charts as files: numbers as CSV, a drawing as PNG.
 *
 * @import { Chart } from "./chart"
 */
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
