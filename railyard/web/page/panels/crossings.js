// SPDX-License-Identifier: Apache-2.0
/**
 * The last frames that crossed the chosen link of a live run, each a way into its journey.
 *
 * @import { Page } from "../main.js"
 */
import { useRef } from "preact/hooks";
import { useAsked } from "./asked.js";
import { html, useStore } from "../ui.js";
import { count, us } from "../words.js";

/** @typedef {{number: number, t: number, from: string, to: string, length: number, words: string}} Crossing */

/** @param {{page: Page, follow: (values: Record<string, unknown>) => void}} props */
export function Crossings({ page, follow }) {
  const { store } = page;
  useStore(store, "selection", "session", "tracks");
  // To choose a hop chooses its node: the list stays that of the link.
  const last = useRef("");
  if (store.selection?.kind === "link") last.current = page.scene()?.names[store.selection.at] ?? "";
  const replay = store.session.mode === "replay";
  const name = replay ? "" : last.current;
  const answer = useAsked(page, "frames", name);
  if (replay) return html`<p class="dim">A recording has the loads of links, not their frames; those of a live run can be picked.</p>`;
  if (!name) return html`<p class="dim">Choose a link to see the frames that cross it.</p>`;
  /** @type {Crossing[]} */ const frames = answer?.frames ?? [];
  return html`<h3>Frames on ${name}</h3>
    ${frames.length === 0 && html`<p class="dim">Those that cross it from now on appear here.</p>`}
    <ul class="events" aria-label="frames">${[...frames].reverse().map((frame) => html`<li key=${frame.number}>
      <button onClick=${() => follow({ link: name, number: frame.number })}>
        <span class="when">${us(frame.t)}</span><i></i>
        <span>on ${frame.from} → ${frame.to}, ${frame.words}, ${count(frame.length)} bytes</span></button></li>`)}</ul>`;
}
