// SPDX-License-Identifier: Apache-2.0
/**
 * The panel of events: everything that happened, each a step to its time.
 *
 * @import { Page } from "../main.js"
 * @import { RunEvent } from "../types.js"
 */
import { useState } from "preact/hooks";
import { html, useStore } from "../ui.js";
import { classOf, us } from "../words.js";

const SHOWN = 400;
/** @type {[string, string][]} */
const GROUPS = [["fault", "faults"], ["control", "notices and tables"], ["job", "jobs"], ["change", "takeovers, circuits"], ["summary", "summaries"]];

/**
 * Nodes of an incident: how each knew of the fault, from whom, and when its tables were right.
 *
 * @param {{nodes: NonNullable<RunEvent["nodes"]>}} props
 */
function Told({ nodes }) {
  const after = (/** @type {number | null} */ time) => (time === null ? "" : us(time * 1e6));
  return html`<details>
    <summary>who told which node</summary>
    <table>
      <tr><th>node</th><th>knows of it</th><th>told by</th><th class="n">after</th><th class="n">tables right after</th></tr>
      ${nodes.map(
        (node) => html`<tr key=${node.node}>
          <td>${node.node}</td><td>${node.learns}</td><td>${node.told_by.join(", ")}</td>
          <td class="n">${after(node.learned_us)}</td><td class="n">${after(node.recovered_us)}</td>
        </tr>`,
      )}
    </table>
  </details>`;
}

/** @param {{page: Page}} props */
export function Events({ page }) {
  const { store } = page;
  useStore(store, "tracks", "time");
  const [hidden, hide] = useState(/** @type {string[]} */ ([]));
  const tracks = store.shown;
  if (!tracks.length) return html`<p class="dim">Nothing has happened yet.</p>`;
  const all = store.events;
  const events = all.filter(({ event }) => !hidden.includes(classOf(event.kind)));
  const now = events.findIndex(({ event }) => event.t > store.time);
  const middle = now < 0 ? events.length : now;
  const shown = events.slice(Math.max(0, middle - SHOWN / 2), middle + SHOWN / 2);
  const present = new Set(all.map(({ event }) => classOf(event.kind)));
  const toggle = (/** @type {string} */ group) =>
    hide(hidden.includes(group) ? hidden.filter((name) => name !== group) : [...hidden, group]);
  return html`<div>
    <h2>Events</h2>
    <p class="dim">${events.length} in ${tracks.map(({ label }) => label).join(" and ")}; choose one to go to its time.</p>
    <div class="row" role="group" aria-label="kinds of events">
      ${GROUPS.filter(([group]) => present.has(group)).map(
        ([group, label]) => html`<button aria-pressed=${!hidden.includes(group)} onClick=${() => toggle(group)}>${label}</button>`,
      )}
    </div>
    <h3>In order of time</h3>
    <ul class="events">
      ${shown.map(
        ({ event, track }) => html`<li key=${`${track.name} ${event.t} ${event.text}`}>
          <button class=${event.t > store.time ? "later" : ""} onClick=${() => page.goTo(event, track)}>
            <span class="when">${us(event.t)}</span><i class=${classOf(event.kind)}></i>
            <span>${tracks.length > 1 && html`<b>${track.label}</b>: `}${event.text}${event.by === "hand" ? " (by hand)" : ""}</span>
          </button>
          ${event.nodes?.length ? html`<${Told} nodes=${event.nodes} />` : null}
        </li>`,
      )}
    </ul>
    ${events.length > shown.length && html`<p class="dim">The ${shown.length} nearest to the time that is shown.</p>`}
  </div>`;
}
