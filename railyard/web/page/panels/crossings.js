// SPDX-License-Identifier: Apache-2.0
/**
 * The last frames that crossed the chosen link: of a live run each is a way into its journey, of a recording to its time.
 *
 * @import { Page } from "../main.js"
 * @import { Crossing } from "../types"
 */
import { useRef } from "preact/hooks";
import { useAsked } from "./asked.js";
import { lastBefore } from "../store.js";
import { html, useStore } from "../ui.js";
import { count, us } from "../words.js";

const SHOWN = 16; // as many as a live run keeps

/** @param {{page: Page, follow: (values: Record<string, unknown>) => void}} props */
export function Crossings({ page, follow }) {
  const { store } = page;
  useStore(store, "selection", "session", "tracks", "time");
  // To choose a hop chooses its node: the list stays that of the link.
  const last = useRef("");
  if (store.selection?.kind === "link") last.current = page.scene()?.names[store.selection.at] ?? "";
  const name = last.current;
  const replay = store.session.mode === "replay";
  const answer = useAsked(page, "frames", replay ? "" : name);
  if (!name) return html`<p class="dim">Choose a link to see the frames that cross it.</p>`;
  const kept = store.chosen?.frames.get(name);
  if (replay && !kept) return html`<h3>Frames on ${name}</h3>
    <p class="dim">The recording kept no frames of this link; <code>railyard run FILE --frames ${name}</code> does.</p>`;
  const choose = (/** @type {Crossing} */ frame) => {
    if (!replay) return follow({ link: name, number: frame.number });
    store.playing = false;
    store.seek(frame.t);
  };
  return html`<h3>Frames on ${name}</h3>
    <${List} frames=${replay ? upTo(kept ?? [], store.time) : answer?.frames ?? []} choose=${choose}
      none=${replay ? "None has crossed it yet." : "Those that cross it from now on appear here."} />`;
}

/** The last frames up to a time. @param {Crossing[]} frames @param {number} time */
function upTo(frames, time) {
  const end = lastBefore(frames, time) + 1;
  return frames.slice(Math.max(0, end - SHOWN), end);
}

/** @param {{frames: Crossing[], choose: (frame: Crossing) => void, none: string}} props */
function List({ frames, choose, none }) {
  if (!frames.length) return html`<p class="dim">${none}</p>`;
  return html`<div class="crossings"><table aria-label="frames">
    <thead><tr><th class="n">µs</th><th>towards</th><th colspan="2">frame</th><th class="n">bytes</th></tr></thead>
    <tbody>${[...frames].reverse().map((frame) => {
      const [ends, what = ""] = frame.words.split(": ", 2);
      return html`<tr key=${frame.number} onClick=${() => choose(frame)}>
        <td class="n"><button class="quiet">${us(frame.t).replace(" µs", "")}</button></td><td>${frame.to}</td><td>${ends}</td><td>${what}</td>
        <td class="n">${count(frame.length)}</td></tr>`;
    })}</tbody></table></div>`;
}
