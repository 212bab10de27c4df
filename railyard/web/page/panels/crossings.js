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
const List = ({ frames, choose, none }) => html`
  ${frames.length === 0 && html`<p class="dim">${none}</p>`}
  <ul class="events" aria-label="frames">${[...frames].reverse().map((frame) => html`<li key=${frame.number}>
    <button onClick=${() => choose(frame)}>
      <span class="when">${us(frame.t)}</span><i></i>
      <span>on ${frame.from} → ${frame.to}, ${frame.words}, ${count(frame.length)} bytes</span></button></li>`)}</ul>`;
