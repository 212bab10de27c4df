// SPDX-License-Identifier: Apache-2.0
// @ts-check
// Interactive parts of report.html; all their data are the JSON in the element #values.
"use strict";
(() => {
  /**
   * @typedef {[string, ...number[]]} LinkRow
   * @typedef {{label: string, colour: string, end_us: number, bin_us: number, delivered: number[],
   *   events: [number, string][], cuts: [number, boolean, string][], links: LinkRow[]}} Variant
   */
  const values = document.getElementById("values");
  if (!values) return;
  /** @type {{axis_us: number, end_us: number, variants: Variant[]}} */
  const { axis_us: axisEnd, end_us: last, variants } = JSON.parse(values.textContent || "");
  const shown = variants.map(() => true);
  document.documentElement.classList.add("script");

  /** @param {string} tag @param {string} [text] @param {string} [name] */
  const element = (tag, text = "", name = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    made.className = name;
    return made;
  };
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

  // Variants: fade the curves and bars of hidden variants; remove their panels, columns and rows.
  const applyVariants = () => {
    shown.forEach((on, index) => {
      for (const id of [`curve${index}`, `bar${index}`, `stub${index}`])
        document.getElementById(id)?.classList.toggle("off", !on);
      for (const part of document.querySelectorAll(`[data-variant="${index}"]`))
        part.classList.toggle("hidden", !on);
    });
    showLinks();
    showTime();
  };
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[data-switch]")))
    box.addEventListener("change", () => {
      shown[Number(box.dataset.switch)] = box.checked;
      applyVariants();
    });

  // Links: sort the rows by a column, filter them by the search field, show at most MOST_ROWS.
  const MOST_ROWS = 500;
  const body = document.querySelector("#links tbody");
  const filter = /** @type {HTMLInputElement | null} */ (document.getElementById("filter"));
  const count = document.getElementById("count");
  const { compare: byText } = new Intl.Collator("en", { numeric: true });
  const byName = (/** @type {string | number} */ a, /** @type {string | number} */ b) => byText(String(a), String(b));
  const sorting = { column: -1, down: true };
  const rows = variants.flatMap((variant, index) =>
    variant.links.map((link) => ({ index, cells: [variant.label, ...link], busiest: Math.max(link[1], link[2]) })),
  );
  const showLinks = () => {
    if (!body) return;
    const words = (filter?.value || "").toLowerCase();
    const chosen = rows.filter((row) => shown[row.index] && String(row.cells[1]).toLowerCase().includes(words));
    const { column, down } = sorting;
    chosen.sort((a, b) => {
      const order =
        column < 0
          ? b.busiest - a.busiest
          : column < 2
            ? byName(a.cells[column], b.cells[column])
            : Number(a.cells[column]) - Number(b.cells[column]);
      return (column >= 0 && down ? -order : order) || a.index - b.index || byName(a.cells[1], b.cells[1]);
    });
    body.replaceChildren(
      ...chosen.slice(0, MOST_ROWS).map((row) => {
        const line = element("tr");
        row.cells.forEach((cell, at) =>
          line.append(element("td", at < 2 ? String(cell) : number.format(Number(cell)), at < 2 ? "" : "n")),
        );
        return line;
      }),
    );
    const rest = chosen.length > MOST_ROWS ? `, the first ${MOST_ROWS} shown` : "";
    if (count) count.textContent = `${chosen.length} of ${rows.length} rows${rest}`;
  };
  filter?.addEventListener("input", showLinks);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-column]")))
    button.addEventListener("click", () => {
      const column = Number(button.dataset.column);
      sorting.down = sorting.column === column ? !sorting.down : column > 1;
      sorting.column = column;
      for (const head of document.querySelectorAll("#links th")) head.removeAttribute("aria-sort");
      button.closest("th")?.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      showLinks();
    });

  // Time: move the cursor of the chart; show values and events up to its time, and the links that were cut then.
  const slider = /** @type {HTMLInputElement | null} */ (document.querySelector(".slider input"));
  const output = document.querySelector(".slider output");
  const moment = document.querySelector(".moment");
  const axis = () => {
    const place = (/** @type {string} */ id) => {
      const path = document.querySelector(`#${id} path`);
      const [, x, top] = /M\s*([-\d.]+)[ ,]([-\d.]+)/.exec(path?.getAttribute("d") || "") || [];
      const low = /L\s*[-\d.]+[ ,]([-\d.]+)/.exec(path?.getAttribute("d") || "")?.[1];
      return { x: Number(x), top: Number(top), low: Number(low), svg: path?.closest("svg") };
    };
    return { begin: place("time-begin"), end: place("time-end") };
  };
  const { begin, end } = axis();
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
  cursor.setAttribute("class", "cursor");
  begin.svg?.append(cursor);

  const now = () => (Number(slider?.value) / 1000) * last;
  const showTime = () => {
    if (!slider || !output || !moment) return;
    const time = now();
    output.textContent = `${time.toFixed(3)} \u00b5s`;
    const x = begin.x + (end.x - begin.x) * Math.min(time / axisEnd, 1);
    if (Number.isFinite(x)) cursor.setAttribute("d", `M${x} ${begin.top}V${begin.low}`);
    const table = element("table");
    const head = element("tr");
    for (const words of ["variant", "arriving, Tbit/s", "arrived, MB", "of all"]) head.append(element("th", words));
    table.append(head);
    const events = variants
      .flatMap((variant, index) =>
        shown[index] ? variant.events.map(([at, words]) => ({ at, words: `${variant.label}: ${words}` })) : [],
      )
      .filter((event) => event.at <= time)
      .sort((a, b) => a.at - b.at)
      .map((event) => element("li", `${event.at.toFixed(3)} \u00b5s, ${event.words}`));
    const list = element("ol");
    list.append(...events);
    variants.forEach((variant, index) => {
      if (!shown[index]) return;
      const bin = Math.floor(time / variant.bin_us);
      const part = time / variant.bin_us - bin;
      const all = variant.delivered.reduce((sum, bytes) => sum + bytes, 0);
      const whole = variant.delivered.slice(0, bin).reduce((sum, bytes) => sum + bytes, 0);
      const arrived = whole + part * (variant.delivered[bin] || 0);
      const rate = (8 * (variant.delivered[bin] || 0)) / (variant.bin_us * 1e6);
      const row = element("tr");
      row.append(element("td", variant.label));
      for (const value of [rate, arrived / 1e6]) row.append(element("td", number.format(value), "n"));
      row.append(element("td", `${number.format(all ? (100 * arrived) / all : 0)} %`, "n"));
      table.append(row);
      showCuts(index, variant, time);
    });
    moment.replaceChildren(table, list);
  };

  /** @param {number} index @param {Variant} variant @param {number} time */
  const showCuts = (index, variant, time) => {
    const down = new Map(variant.cuts.map(([, , link]) => [link, false]));
    for (const [at, isDown, link] of variant.cuts) if (at <= time) down.set(link, isDown);
    for (const path of document.querySelectorAll(`figure[data-variant="${index}"] .fabric path.cut`)) {
      const link = (path.querySelector("title")?.textContent || "").split(/[:,]/)[0];
      path.classList.toggle("waiting", down.get(link) === false);
      path.nextElementSibling?.classList.toggle("hidden", down.get(link) === false);
    }
  };
  slider?.addEventListener("input", showTime);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-step]")))
    button.addEventListener("click", () => {
      const times = variants.flatMap((variant, index) => (shown[index] ? variant.events.map(([at]) => at) : []));
      const step = last / 1000;
      const ahead = times.filter((at) => at > now() + step / 2 && at <= last);
      const behind = times.filter((at) => at < now() - step / 2);
      const to = button.dataset.step === "1" ? Math.min(...ahead) : Math.max(...behind);
      // Round the slider up, so that its time is not before the event.
      if (slider && Number.isFinite(to)) slider.value = String(Math.ceil((to / last) * 1000 - 1e-9));
      showTime();
    });
  applyVariants();
})();
