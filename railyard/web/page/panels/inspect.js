// SPDX-License-Identifier: Apache-2.0
/**
 * The panel of what is chosen: its state, its counters, and the hands that take it down, up, or impair it.
 *
 * @import { Page } from "../main.js"
 * @import { Scene } from "../drawing/scene.js"
 */
import { useAsked } from "./asked.js";
import { Hands, State, runs, targetOf } from "./hands.js";
import { Panes } from "./panes.js";
import { html, useStore } from "../ui.js";
import { levelOf } from "../drawing/levels.js";
import { KINDS, count, percent, size } from "../words.js";

/** @param {{page: Page}} props */
export function Inspector({ page }) {
  const { store } = page;
  useStore(store, "selection", "time", "session", "fabric", "tracks");
  const scene = page.scene();
  if (!scene) return html`<p class="dim">${store.connection === "refused" ? store.farewell : "Waiting for the fabric."}</p>`;
  const chosen = store.selection;
  return html`<div>
    <${Search} page=${page} scene=${scene} />
    <${Panes} page=${page} />
    ${!chosen
      ? html`<${Overview} page=${page} scene=${scene} />`
      : chosen.kind === "node"
        ? html`<${NodePart} key=${`n${chosen.at}`} page=${page} scene=${scene} at=${chosen.at} />`
        : html`<${LinkPart} key=${`l${chosen.at}`} page=${page} scene=${scene} at=${chosen.at} />`}
    <${ByHand} page=${page} />
  </div>`;
}

/** @param {{page: Page, scene: Scene}} props */
function Search({ page, scene }) {
  const find = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const word = input.value.trim();
    const node = scene.nodeAt.get(word);
    const link = scene.linkAt.get(word) ?? scene.linkAt.get(word.split("-").reverse().join("-"));
    if (node !== undefined) page.store.select({ kind: "node", at: node });
    else if (link !== undefined) page.store.select({ kind: "link", at: link });
    else if (word) return page.store.say(`There is no node or link named ${word}.`, true);
    input.value = "";
  };
  return html`<input class="search" type="search" placeholder="Find a node or link: npu5, npu0-npu1"
    aria-label="find a node or link" onChange=${find} />`;
}

/** @param {{page: Page, scene: Scene}} props */
function Overview({ page, scene }) {
  const { store } = page;
  const { chosen: track, header } = store;
  const tick = store.at(track);
  const up = tick ? tick.state.reduce((sum, state) => sum + (state & 1), 0) : scene.names.length;
  /** @type {Map<string, number>} */ const kinds = new Map();
  for (const kind of scene.fabric.nodes.kind) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const total = (/** @type {string} */ name) => (tick && track ? (tick.totals[track.totals.indexOf(name)] ?? 0) : 0);
  return html`<div>
    <h2>${scene.fabric.name}</h2>
    ${header?.description && html`<p class="dim">${header.description}</p>`}
    <dl class="facts">
      ${[...kinds].map(([kind, number]) => html`<dt>${KINDS[kind] ?? kind}</dt><dd>${count(number)}</dd>`)}
      <dt>links</dt><dd>${count(scene.names.length)}${up < scene.names.length && `, ${count(up)} up`}</dd>
      ${tick && html`
        <dt>data that arrived</dt><dd>${size(total("delivered_bytes"))}</dd>
        <dt>frames sent or queued to send</dt><dd>${count(total("sent"))}</dd>
        <dt>retransmitted</dt><dd>${count(total("retransmitted"))}</dd>
        <dt>notices</dt><dd>${count(total("notices"))}</dd>
        <dt>table entries rewritten</dt><dd>${count(total("entries_rewritten"))}</dd>`}
    </dl>
    ${track && track.jobs.length > 1 && html`
      <h3>Jobs</h3>
      <ul class="plain">
        ${track.jobs.map((job, at) => html`<li class="row">
          <i class="dot" style=${`width:11px;height:11px;border-radius:50%;background:var(--job-${at % 7})`}></i>
          ${job.name} <span class="dim">${job.members.length} members</span></li>`)}
      </ul>`}
    <h3>Hands</h3>
    <p class="dim">Choose a link or a node in the picture, by pointer, by arrow keys, or by its name.</p>
  </div>`;
}

/** @param {{page: Page, scene: Scene, at: number}} props */
function LinkPart({ page, scene, at }) {
  const { store } = page;
  const name = scene.names[at];
  const tick = store.at(store.chosen);
  const state = store.states(name, at);
  const nodes = scene.fabric.nodes.name;
  const ends = [nodes[scene.a[at]], nodes[scene.b[at]]];
  const asked = useAsked(page, "link", name ?? "");
  const counters = store.follow && runs(store) ? asked : null;
  const ports = scene.ports[at];
  if (name === undefined) return null;
  return html`<div>
    <h2>${name} <${State} state=${state} circuit=${!!scene.circuit[at]} /></h2>
    <p class="dim">${scene.gbps[at].toLocaleString("en")} Gbit/s each way
      ${ports && `, port ${ports[0]} of ${ends[0]} and ${ports[1]} of ${ends[1]}`}</p>
    ${[0, 1].map((way) => html`<${Way} from=${ends[way]} to=${ends[1 - way]}
      load=${tick?.load[2 * at + way] ?? 0} queue=${tick?.queue[2 * at + way] ?? 0} paused=${!!(state & (8 << way))}
      counters=${counters?.directions[way]} />`)}
    <${Hands} page=${page} target=${targetOf(scene, { kind: "link", at })} down=${!(state & 1)} impaired=${!!(state & 6)} />
    <h3>Ends</h3>
    <div class="row">${[0, 1].map((way) => html`
      <button onClick=${() => store.select({ kind: "node", at: way ? scene.b[at] : scene.a[at] })}>${ends[way]}</button>`)}
    </div>
  </div>`;
}

/** @param {{from: string, to: string, load: number, queue: number, paused: boolean, counters: any}} props */
function Way({ from, to, load, queue, paused, counters }) {
  return html`<div class="way">
    <div class="name"><span>${from} → ${to} ${paused && html`<span class="badge down">paused</span>`}</span><b class="num">${percent(load)}</b></div>
    <div class="meter"><i style=${`width:${(100 * load) / 255}%;background:var(--load-${Math.max(3, levelOf(load))})`}></i></div>
    <div class="dim num">queue ${percent(queue)} of its room${counters && `, ${count(counters.frames)} frames, ${size(counters.bytes)}`}
      ${counters && counters.lost > 0 && `, ${count(counters.lost)} lost`}
      ${counters && Object.keys(counters.queued).length > 0 &&
        `, waiting: ${Object.entries(counters.queued).map(([vl, bytes]) => `${size(Number(bytes))} on VL ${vl}`).join(", ")}`}
    </div>
  </div>`;
}

/** @param {{page: Page, scene: Scene, at: number}} props */
function NodePart({ page, scene, at }) {
  const { store } = page;
  const { nodes } = scene.fabric;
  const { chosen: track } = store;
  const tick = store.at(track);
  const links = scene.linksOf[at];
  const job = track?.jobs.find(({ members }) => members.includes(at));
  const kind = nodes.kind[at];
  const down = tick ? links.filter((link) => !((tick.state[link] ?? 1) & 1)).length : 0;
  const load = (/** @type {number} */ link) =>
    tick ? Math.max(tick.load[2 * link] ?? 0, tick.load[2 * link + 1] ?? 0) : 0;
  const busiest = [...links].sort((a, b) => load(b) - load(a)).slice(0, 24);
  const other = (/** @type {number} */ link) => nodes.name[scene.a[link] === at ? scene.b[link] : scene.a[link]];
  return html`<div>
    <h2>${nodes.name[at]} ${down > 0 && html`<span class="badge down">${down === links.length ? "all links down" : `${down} down`}</span>`}</h2>
    <p class="dim">${KINDS[kind] ?? kind}, ${links.length} links${job && track && track.jobs.length > 1 ? `, in job ${job.name}` : ""}</p>
    <${Hands} page=${page} target=${targetOf(scene, { kind: "node", at })} down=${down > 0 && down === links.length} impaired=${false} />
    ${links.length > 0 && html`
      <h3>Links by load</h3>
      <ul class="events">${busiest.map((link) => html`<li key=${link}><button onClick=${() => store.select({ kind: "link", at: link })}>
        <span class="when">${percent(load(link))}</span>
        <i style=${`background:var(--load-${levelOf(load(link))})`}></i><span>${other(link)}</span></button></li>`)}</ul>`}
  </div>`;
}

/** Faults by hand of all variants, and the scenario that repeats them. @param {{page: Page}} props */
function ByHand({ page }) {
  const { session } = page.store;
  const all = Object.entries(session.by_hand);
  if (!all.length) return null;
  return html`<div>
    <h3>Done by hand</h3>
    ${all.map(([variant, faults]) => html`<div class="dim">${variant}</div>
      <div class="yaml">${faults.map((fault) => `- ${yaml(fault)}\n`)}</div>`)}
    ${session.saves && html`<button class="primary" onClick=${() => page.save()}>Save as a scenario</button>
      <p class="dim">${session.real ? "A run of that file has these faults at these times." : "A run of that file repeats this run exactly."}</p>`}
  </div>`;
}

/** @param {Record<string, unknown>} fault */
const yaml = (fault) => `{${Object.entries(fault).map(([key, value]) => `${key}: ${value}`).join(", ")}}`;
