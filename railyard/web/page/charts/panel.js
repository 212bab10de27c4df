// SPDX-License-Identifier: Apache-2.0
/**
 * The panel of charts: a click shows a time, a drag zooms all charts, a double click shows the whole run again.
 *
 * @import { Page } from "../main.js"
 * @import { Chart, Line } from "./chart"
 */
import uPlot from "uplot";
import { useEffect, useRef, useState } from "preact/hooks";
import { offer, toCsv, toPng } from "./exports.js";
import { chartsOf, drawn } from "./series.js";
import { COLOURS, toSvg } from "./svg.js";
import { html, useStore } from "../ui.js";
import { classOf, us } from "../words.js";

/** Milliseconds between two drawings of a run that goes on. */
const PERIOD = 300;
const HEIGHT = 118;

/** @param {{page: Page}} props */
export function ChartsPanel({ page }) {
  const { store } = page;
  useStore(store, "tracks", "selection", "session");
  const [, again] = useState(0);
  const [zoom, setZoom] = useState(/** @type {[number, number] | null} */ (null));
  const [which, choose] = useState("");
  const { track, selection } = store;
  // Ticks come faster than charts are worth drawing.
  useEffect(() => {
    let seen = -1;
    const timer = setInterval(() => {
      const length = store.track?.ticks.length ?? 0;
      if (length !== seen) again((count) => count + 1);
      seen = length;
    }, PERIOD);
    return () => clearInterval(timer);
  }, []);
  if (!track || track.ticks.length < 2) return html`<p class="dim">Charts begin with the first ticks of a run.</p>`;
  const name = selection?.kind === "link" ? page.scene()?.names[selection.at] : undefined;
  const at = name === undefined ? -1 : track.links.indexOf(name);
  const link = name !== undefined && at >= 0 ? { at, name } : null;
  const other = store.tracks.get(store.beside);
  const charts = beside(chartsOf(track, link), other && other.ticks.length > 1 ? chartsOf(other, link) : [], other?.label ?? "");
  const range = zoom ?? /** @type {[number, number]} */ ([0, store.span / 1e6]);
  const only = charts.filter(({ id }) => id === which);
  const save = async (/** @type {"svg" | "png" | "csv"} */ kind) => {
    const saved = only.length ? only : charts;
    const title = `${store.header?.title ?? ""}: ${track.label}${other ? `, dashed: ${other.label}` : ""}`;
    const names = [store.header?.scenario ?? "run", track.name, other?.name, ...only.map(({ id }) => id)];
    const file = `${names.filter(Boolean).join("-")}.${kind}`;
    const marks = store.events.filter(({ event: { kind } }) => classOf(kind) === "fault").map(({ event: { t, text } }) => ({ t: t / 1e6, text }));
    const svg = toSvg(saved, range, title, marks);
    const blob = kind === "csv" ? new Blob([toCsv(saved)], { type: "text/csv" })
      : kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await toPng(svg);
    offer(blob, file);
  };
  return html`
    <link rel="stylesheet" href="/page/charts/charts.css" />
    <h2>Charts</h2>
    <p class="dim">${track.label}${other ? `, dashed: ${other.label}` : ""}. A click shows a time; drag to zoom. ${
      link ? "" : "Choose a link to see its load and queue."}</p>
    <div class="row">
      <select aria-label="charts to save" title="a single chart is drawn as large as a slide" value=${only.length ? which : ""}
        onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
        <option value="">all charts</option>
        ${charts.map(({ id, title }) => html`<option value=${id}>${title}</option>`)}</select>
      ${(/** @type {const} */ (["svg", "png", "csv"])).map((kind) => html`<button onClick=${() => save(kind)}>${kind.toUpperCase()}</button>`)}
      ${zoom && html`<button class="primary" onClick=${() => setZoom(null)}>whole run</button>`}
    </div>
    ${charts.map((chart) => html`<${Plot} key=${chart.id + chart.lines.length} page=${page} chart=${chart} range=${range}
      zoom=${setZoom} />`)}
  `;
}

/** Add the lines of the variant beside, at the times of the chart. @param {Chart[]} charts @param {Chart[]} others
 * @param {string} name */
function beside(charts, others, name) {
  return charts.map((chart) => {
    const other = others.find(({ id, unit }) => id === chart.id && unit === chart.unit);
    if (!other) return chart;
    const x = [...new Set([...chart.x, ...other.x])].sort((a, b) => a - b);
    return {
      ...chart, x,
      lines: [
        ...chart.lines.map((line) => ({ ...line, values: onto(x, chart.x, line.values) })),
        ...other.lines.map((line) => ({ ...line, label: `${line.label}, ${name}`, dashed: true, values: onto(x, other.x, line.values) })),
      ],
    };
  });
}

/** Values at other times: each holds until the next. @param {number[]} x @param {number[]} from @param {number[]} values */
function onto(x, from, values) {
  let at = -1;
  return x.map((time) => {
    while (at + 1 < from.length && from[at + 1] <= time) at++;
    return at < 0 ? 0 : values[at];
  });
}

/** @param {{page: Page, chart: Chart, range: [number, number], zoom: (range: [number, number] | null) => void}} props */
function Plot({ page, chart, range, zoom }) {
  const { store } = page;
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  useEffect(() => {
    if (!host.current) return;
    const element = host.current;
    const made = new uPlot(options(page, chart, element.clientWidth, zoom), aligned(chart), element);
    plot.current = made;
    made.setScale("x", { min: range[0], max: range[1] });
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => made.redraw(false, true);
    theme.addEventListener("change", repaint);
    const forget = store.on((what) => what === "time" && made.redraw(false, false));
    return () => {
      forget();
      theme.removeEventListener("change", repaint);
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => {
    plot.current?.setData(aligned(chart), false);
    plot.current?.setScale("x", { min: range[0], max: range[1] });
  }, [chart, range[0], range[1]]);
  const last = chart.lines.map(({ values }) => values[values.length - 1]);
  const words = `${chart.title}: ${chart.lines.map(({ label }, at) => `${label} ${Number((last[at] ?? 0).toPrecision(3))} ${chart.unit}`).join(", ")}`;
  return html`<figure class="plot">
    <figcaption><b>${chart.title}</b>, ${chart.unit}
      ${chart.lines.length > 1 && html`<span class="key">${chart.lines.map(({ label, dashed }, at) => html`<span>
        <i style=${`border-color:${COLOURS[at % COLOURS.length]};border-top-style:${dashed ? "dashed" : "solid"}`}></i>${label}</span>`)}</span>`}</figcaption>
    <div ref=${host} role="img" aria-label=${words} data-chart=${chart.id}></div>
  </figure>`;
}

/** @param {Chart} chart @returns {uPlot.AlignedData} */
const aligned = ({ x, lines }) => [x, ...lines.map(drawn)];

/** @param {Page} page @param {Chart} chart @param {number} width @param {(range: [number, number] | null) => void} zoom
 * @returns {uPlot.Options} */
function options(page, chart, width, zoom) {
  const { store } = page;
  const colour = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { stroke: () => colour("--text-dim"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width, height: HEIGHT,
    legend: { show: false },
    padding: [6, 8, 0, 0],
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] } },
    axes: [{ ...axis, size: 22 }, { ...axis, size: 44 }],
    series: [{}, ...chart.lines.map(({ label, dashed }, at) => ({
      label, stroke: COLOURS[at % COLOURS.length], width: 1.5, dash: dashed ? [5, 3] : undefined, points: { show: false },
    }))],
    cursor: { sync: { key: "railyard" }, y: false, drag: { x: true, y: false, setScale: false } },
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        zoom([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
      ready: [(u) => {
        let pressed = 0;
        u.over.addEventListener("pointerdown", (event) => { pressed = event.clientX; });
        u.over.addEventListener("click", (event) => {
          if (Math.abs(event.clientX - pressed) > 3) return;
          store.playing = false;
          store.seek(u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x") * 1e6);
          page.announce(`time ${us(store.time)}`);
        });
        u.over.addEventListener("dblclick", () => zoom(null));
      }],
      draw: [(u) => {
        const { ctx, bbox } = u;
        const line = (/** @type {number} */ t, /** @type {string} */ name, /** @type {number[]} */ dash) => {
          const x = Math.round(u.valToPos(t / 1e6, "x", true));
          if (x < bbox.left || x > bbox.left + bbox.width) return;
          ctx.save();
          ctx.strokeStyle = colour(name);
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash(dash);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          ctx.restore();
        };
        for (const { event } of store.events) if (classOf(event.kind) === "fault") line(event.t, "--down", [4, 4]);
        line(store.time, "--text", []);
      }],
    },
  };
}
