// SPDX-License-Identifier: Apache-2.0
// @ts-check
// Buttons at each figure of report.html that save it as SVG or PNG, for slides.
"use strict";
(() => {
  const WIDTH = 1920; // pixels of a PNG
  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "opacity",
    "display", "visibility", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];

  /** The drawing on its own: with the styles that it has in the page. @param {SVGSVGElement} svg */
  const alone = (svg) => {
    const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
    const copies = copy.querySelectorAll("*");
    svg.querySelectorAll("*").forEach((part, at) => {
      if (part.closest("defs")) return; // it has the styles of its uses
      const style = getComputedStyle(part);
      for (const name of STYLES) /** @type {SVGElement} */ (copies[at]).style.setProperty(name, style.getPropertyValue(name));
    });
    for (const part of copy.querySelectorAll(".cursor")) part.remove();
    const { width, height } = svg.viewBox.baseVal;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", String(width));
    copy.setAttribute("height", String(height));
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    copy.style.color = getComputedStyle(svg).color;
    copy.style.setProperty("--card", getComputedStyle(document.body).backgroundColor);
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  };

  /** @param {Blob | null} blob @param {string} name */
  const offer = (blob, name) => {
    if (!blob) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  /** @param {SVGSVGElement} svg @param {string} name @param {string} kind */
  const save = async (svg, name, kind) => {
    const { text, width, height } = alone(svg);
    if (kind === "svg") return offer(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`; // the policy of the page allows no blob here
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [WIDTH, Math.round((WIDTH * height) / width)];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => offer(blob, `${name}.png`), "image/png");
  };

  const named = (/** @type {string} */ words) => words.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60).replace(/^-|-$/g, "");
  /** @type {Map<string, number>} */ const taken = new Map();
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    if (!svg) continue;
    let before = /** @type {Element | null} */ (figure);
    while (before && before.tagName !== "H2") before = before.previousElementSibling ?? before.parentElement;
    const words = [before?.firstChild?.textContent ?? "", figure.querySelector("figcaption")?.textContent ?? ""];
    const name = named(words.join(" "));
    const times = (taken.get(name) ?? 0) + 1;
    taken.set(name, times);
    const row = document.createElement("div");
    row.className = "save";
    for (const kind of ["svg", "png"]) {
      const button = document.createElement("button");
      button.textContent = kind.toUpperCase();
      button.title = `save this figure as ${kind.toUpperCase()}`;
      button.addEventListener("click", () => save(svg, times > 1 ? `${name}-${times}` : name, kind));
      row.append(button);
    }
    figure.append(row);
  }
})();
