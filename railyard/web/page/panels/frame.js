// SPDX-License-Identifier: Apache-2.0
/**
 * The panel of one frame: crafted here or picked off a link, followed hop by hop through the switches as they are now.
 *
 * @import { Page } from "../main.js"
 * @import { Hop, Journey, Part, Step } from "./journey"
 */
import { useEffect, useState } from "preact/hooks";
import { Crossings } from "./crossings.js";
import { Panes } from "./panes.js";
import { html, useStore } from "../ui.js";

const CONTEXT = 5;
const SHOWN_PAYLOAD = 32;

/** @param {{page: Page}} props */
export function FramePanel({ page }) {
  const { store } = page;
  useStore(store, "fabric", "tracks", "session", "selection");
  const [journey, show] = useState(/** @type {Journey | null} */ (null));
  const [refusal, refuse] = useState("");
  const [at, go] = useState(0);
  const scene = page.scene();
  const follow = async (/** @type {Record<string, unknown>} */ values) => {
    try {
      show(await page.connection.ask("follow", { variant: store.chosen?.name, ...values }));
      refuse("");
      go(0);
    } catch (error) {
      show(null);
      refuse(String(/** @type {Error} */ (error).message));
    }
  };
  const hop = journey?.hops[Math.min(at, journey.hops.length - 1)];
  const choose = (/** @type {number} */ number) => {
    const chosen = journey?.hops[number];
    const node = chosen && scene?.nodeAt.get(chosen.node);
    go(number);
    if (node !== undefined) store.select({ kind: "node", at: node });
  };
  return html`
    <link rel="stylesheet" href="/page/panels/frame.css" />
    <h2>Follow one frame</h2>
    <p class="dim">${store.session.mode === "live"
      ? "Every switch on its way runs its program on the frame. The run does not notice."
      : "A recording has frames of links, without their way through the switches, which a live run shows."}</p>
    <${Panes} page=${page} />
    <${Crossings} page=${page} follow=${follow} />
    ${store.session.mode === "live" && html`<h3>A frame of your own</h3>`}
    ${store.session.mode === "live" && scene && html`<${Craft} names=${endpoints(scene.fabric)} follow=${follow} />`}
    ${refusal && html`<p class="drop" role="alert">${refusal}</p>`}
    ${journey && hop && html`
      <p class=${journey.arrived ? "" : "drop"} role="status">${journey.end}${journey.arrived ? `, ${(journey.time_ps / 1000).toFixed(2)} ns after it was sent` : ""}.
        <span class="dim"> By ${journey.tables} tables${journey.down.length ? `, ${journey.down.length} links down` : ""}.</span></p>
      <ol class="hops" aria-label="hops">
        ${journey.hops.map((other, number) => html`<li key=${number}>
          <button aria-pressed=${other === hop} onClick=${() => choose(number)}>${other.node}${other.dropped ? " ✕" : ""}</button></li>`)}
      </ol>
      <${HopView} key=${at} hop=${hop} sources=${journey.sources} />`}
  `;
}

/** Names of the nodes that send and receive. @param {import("../types").FabricPicture} fabric */
const endpoints = ({ nodes }) => nodes.name.filter((_, at) => ["npu", "gpu", "spare"].includes(nodes.kind[at]));

/** @param {{names: string[], follow: (values: Record<string, unknown>) => void}} props */
function Craft({ names, follow }) {
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const words = (/** @type {string} */ name) => String(form.get(name) ?? "").split(/[\s,;]+/).filter(Boolean);
    follow({
      from: form.get("from"), to: form.get("to"), kind: form.get("kind"), bucket: Number(form.get("bucket")),
      route: words("route"), changes: words("changes"),
    });
  };
  return html`<form class="craft" onSubmit=${submit}>
    <datalist id="endpoints">${names.map((name) => html`<option value=${name} />`)}</datalist>
    <label>from <input name="from" list="endpoints" required defaultValue=${names[0]} /></label>
    <label>to <input name="to" list="endpoints" required defaultValue=${names[names.length - 1]} /></label>
    <label>kind <select name="kind"><option value="data">data</option><option value="ack">acknowledgement</option></select></label>
    <label>bucket <input name="bucket" type="number" min="0" max="15" defaultValue="0" /></label>
    <label class="wide">route <input name="route" placeholder="the planned one, or npu4 npu6 -" /></label>
    <label class="wide">fields <input name="changes" placeholder="as they are, or srh.ptr=12" /></label>
    <button class="primary">Follow</button>
  </form>`;
}

/** @param {{hop: Hop, sources: Record<string, string>}} props */
function HopView({ hop, sources }) {
  const tables = hop.steps.filter((step) => step.lookup);
  return html`
    <h3>${hop.node}</h3>
    <dl class="facts">
      <dt>port in, out</dt><dd>${port(hop.port_in)} → ${hop.dropped ? "dropped" : port(hop.port_out)}</dd>
      <dt>lane in, out</dt><dd>${hop.lane_in ?? "none"} → ${hop.lane_out ?? "none"}</dd>
      <dt>decided by</dt><dd>${hop.dropped ? html`<span class="drop">${hop.dropped}</span>` : hop.decided_by}</dd>
    </dl>
    ${hop.decided_at && html`<${Listing} place=${hop.decided_at} text=${sources[hop.decided_at.file]} drops=${!!hop.dropped} />`}
    <h3>Bytes that arrive</h3>
    <${Bytes} frame=${hop.frame_in} other=${hop.frame_out} hop=${hop} side="before" />
    ${hop.frame_out && html`<h3>Bytes that leave</h3><${Bytes} frame=${hop.frame_out} other=${hop.frame_in} hop=${hop} side="after" />`}
    ${hop.changes.length > 0 && html`<h3>Fields that changed</h3>
      <table class="changes"><tbody>${hop.changes.map((change) => html`<tr key=${change.header + change.field}>
        <td><i class=${`hdr ${change.header}`}></i>${change.header}.${change.field}</td>
        <td>${change.before ?? "not there"}</td><td>${change.after ?? "not there"}</td></tr>`)}</tbody></table>`}
    <h3>Tables</h3>
    ${tables.map((step) => html`<${Table} step=${step} />`)}
    <h3>Counters</h3>
    <ul class="plain mono">${hop.steps.filter((step) => step.name === "count").map((step) => html`<li>${leaf(step.target ?? "")}[${step.value}] + 1</li>`)}</ul>
    <details><summary>All ${hop.steps.length} steps of the program</summary>
      <ol class="steps mono">${hop.steps.map((step) => html`<li>
        <span class="dim">${step.source ? `${leaf(step.source.file, "/")}:${step.source.line}` : "parser"}</span> ${words(step)}</li>`)}</ol>
    </details>
  `;
}

const port = (/** @type {number | null} */ number) =>
  number === 0 ? "host" : number === 510 ? "controller" : number === null ? "" : `port ${number}`;

const leaf = (/** @type {string} */ name, dot = ".") => name.slice(name.lastIndexOf(dot) + 1);

const number = (/** @type {number} */ value) => (value > 0xffff ? `0x${value.toString(16)}` : String(value));

/** @param {Step} step */
function words(step) {
  const text = step.source?.text ?? step.name;
  if (step.lookup) return `table ${leaf(step.name)}: ${step.lookup.hit ? "hit" : "miss"}, ${leaf(step.lookup.action)}`;
  if (step.outcome !== undefined) return `${text}: ${step.outcome ? "yes" : "no"}`;
  return step.value === undefined ? text : `${text}: ${number(step.value)}`;
}

/** @param {{step: Step}} props */
function Table({ step }) {
  const { lookup } = step;
  if (!lookup) return null;
  return html`<div class="lookup">
    <div><b>${leaf(step.name)}</b> <span class=${`badge ${lookup.hit ? "" : "down"}`}>${lookup.hit ? "hit" : "miss"}</span></div>
    <div class="mono">${lookup.key.map((field) => html`<span>${field.name} ${field.value}${
      field.asked && field.asked !== field.value ? html` <span class="dim">in ${field.asked}</span>` : ""}</span> `)}</div>
    <div class="mono">→ ${leaf(lookup.action) || "no action"}(${lookup.params.map(([name, value]) => `${name} ${number(value)}`).join(", ")})
      ${lookup.packets !== null && html`<span class="dim"> frame ${lookup.packets} of the entry</span>`}</div>
  </div>`;
}

/** The line that decided, with lines around it. @param {{place: {file: string, line: number, text: string}, text?: string, drops: boolean}} props */
function Listing({ place, text, drops }) {
  const lines = text?.split("\n") ?? [];
  const first = Math.max(1, place.line - CONTEXT);
  const shown = lines.slice(first - 1, place.line + CONTEXT);
  const indent = Math.min(...shown.filter((line) => line.trim()).map((line) => line.search(/\S/)));
  return html`<h3 class="place">${place.file}, line ${place.line}</h3>
    ${shown.length === 0
      ? html`<p class="mono">${place.text}</p>`
      : html`<pre class="listing" tabindex="0" aria-label="P4 source"><code>${shown.map((line, at) => html`<span
          class=${first + at === place.line ? (drops ? "line drops" : "line decides") : "line"}><i>${first + at}</i>${line.slice(indent)}\n</span>`)}</code></pre>`}`;
}

/** Bytes coloured by header; those of fields that changed are marked.
 * @param {{frame: {bytes: string, parts: Part[]}, other: {bytes: string, parts: Part[]} | null, hop: Hop, side: "before" | "after"}} props */
function Bytes({ frame, other }) {
  const [open, unfold] = useState("");
  useEffect(() => unfold(""), [frame]);
  return html`<div class="bytes mono">${frame.parts.map((part) => {
    const own = pairs(frame.bytes, part);
    const twin = other?.parts.find(({ name }) => name === part.name);
    const before = twin ? pairs(/** @type {{bytes: string}} */ (other).bytes, twin) : null;
    const shown = part.name === "payload" ? own.slice(0, SHOWN_PAYLOAD) : own;
    return html`<div class=${`part ${part.name}`} key=${part.name}>
      <button class="quiet" aria-expanded=${open === part.name} title=${part.title} onClick=${() => unfold(open === part.name ? "" : part.name)}>${part.name}</button>
      <span class="hex">${shown.map((byte, at) => html`<span class=${other && (!before || before[at] !== byte) ? "changed" : ""}>${byte}</span>`)}
        ${shown.length < own.length && html`<span class="dim">and ${own.length - shown.length} more</span>`}</span>
      ${open === part.name && html`<dl class="facts">${part.fields.map((field) => html`<dt>${field.name}</dt><dd>${field.text}</dd>`)}</dl>`}
    </div>`;
  })}</div>`;
}

/** Bytes of a part, as two digits each. @param {string} bytes @param {Part} part */
const pairs = (bytes, part) => bytes.slice(2 * part.start, 2 * part.stop).match(/../g) ?? [];
