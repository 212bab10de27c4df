// SPDX-License-Identifier: Apache-2.0
/**
 * The hands that take a node or a link down, up, or impair it: in the panel, and in full screen over the picture.
 *
 * @import { Page } from "../main.js"
 * @import { Scene } from "../drawing/scene.js"
 * @import { Store } from "../store.js"
 * @import { FaultKeys, Selection } from "../types"
 */
import { useState } from "preact/hooks";
import { html, useStore } from "../ui.js";

/** @param {{state: number, circuit: boolean}} props */
export const State = ({ state, circuit }) =>
  state & 1
    ? state & 6 ? html`<span class="badge down">impaired</span>` : html`<span class="badge">up</span>`
    : html`<span class="badge down">${circuit ? "not set up" : "down"}</span>`;

/** True while the variant that panels describe is running. @param {Store} store */
export const runs = ({ session, chosen }) => session.mode === "live" && !session.ended && session.variant === chosen?.name;

/** @type {[string, string, string, number][]} event, its key, unit, usual value */
const IMPAIRMENTS = [["loss", "percent", "% of frames lost", 1], ["rate", "percent", "% of its rate", 25], ["delay", "add_ns", "ns more delay", 500]];

/** @param {{page: Page, target: FaultKeys, down: boolean, impaired: boolean}} props */
export function Hands({ page, target, down, impaired }) {
  const [kind, choose] = useState(0);
  const [value, set] = useState(IMPAIRMENTS[0][3]);
  const why = refusal(page.store);
  const hit = (/** @type {FaultKeys} */ keys) => page.strike({ ...target, ...keys });
  const [event, key, unit] = IMPAIRMENTS[kind];
  return html`<div>
    <h3>Hands</h3>
    ${why ? html`<p class="dim">${why}</p>` : html`
    <div class="row">
      <${Turn} page=${page} target=${target} down=${down} />
      ${impaired && html`<button onClick=${() => hit({ event: "clear" })}>Repair it</button>`}
    </div>
    <div class="row" style="margin-top:8px">
      <select aria-label="impairment" value=${kind} onChange=${(/** @type {any} */ e) => {
        choose(Number(e.target.value));
        set(IMPAIRMENTS[Number(e.target.value)][3]);
      }}>${IMPAIRMENTS.map(([name], at) => html`<option value=${at}>${name}</option>`)}</select>
      <input type="number" min="0" aria-label=${unit} value=${value} onInput=${(/** @type {any} */ e) => set(Number(e.target.value))} />
      <span class="dim">${unit}</span>
      <button onClick=${() => hit({ event, [key]: value })}>Impair it</button>
    </div>`}
  </div>`;
}

/** Return the reason for which nothing can be changed by hand now, or an empty text. @param {Store} store */
function refusal(store) {
  const { session, chosen: track } = store;
  if (session.mode === "replay") return "A recording cannot be changed.";
  if (session.read_only) return "This page only looks.";
  if (session.ended) return "The run has ended.";
  return track && !runs(store) ? `${track.label} is not running now.` : "";
}

/** Keys of a fault for what is chosen. @param {Scene} scene @param {NonNullable<Selection>} chosen @returns {FaultKeys} */
export function targetOf(scene, { kind, at }) {
  if (kind === "link") return { [scene.ports[at] === null ? "circuit" : "link"]: scene.names[at] };
  const { name, kind: kinds } = scene.fabric.nodes;
  return { [kinds[at] === "npu" || kinds[at] === "gpu" ? kinds[at] : "switch"]: name[at] };
}

/** @param {{page: Page, target: FaultKeys, down: boolean}} props */
const Turn = ({ page, target, down }) =>
  down
    ? html`<button class="primary" onClick=${() => page.strike({ ...target, event: "up" })}>Bring it up</button>`
    : html`<button class="danger" onClick=${() => page.strike({ ...target, event: "down" })}>Take it down</button>`;

/** Name and state of what is chosen, and the hand that takes it down or up. @param {{page: Page}} props */
export function Chosen({ page }) {
  const { store } = page;
  useStore(store, "selection", "time", "session", "tracks");
  const scene = page.scene();
  const { selection } = store;
  if (!scene || !selection) return null;
  const { states } = store;
  const state = (/** @type {number} */ link) => states(scene.names[link], link);
  const { kind, at } = selection;
  const links = kind === "link" ? [at] : scene.linksOf[at];
  const down = links.length > 0 && links.every((link) => !(state(link) & 1));
  return html`<span class="chosen"><b>${kind === "link" ? scene.names[at] : scene.fabric.nodes.name[at]}</b>
    ${kind === "link" ? html`<${State} state=${state(at)} circuit=${!!scene.circuit[at]} />` : down && html`<span class="badge down">down</span>`}
    ${!refusal(store) && html`<${Turn} page=${page} target=${targetOf(scene, selection)} down=${down} />`}</span>`;
}
