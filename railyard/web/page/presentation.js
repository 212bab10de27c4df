// SPDX-License-Identifier: Apache-2.0
/**
 * Full screen: the fabric and time alone, with a caption of what happens, for a room that looks on.
 *
 * @import { Page } from "./main.js"
 * @import { RunEvent, Track } from "./types"
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { html, useStore } from "./ui.js";
import { classOf, count, us } from "./words.js";

/** State of full screen, and the function that changes it; the key F does too, and Escape ends it.
 * @returns {[boolean, () => void]} */
export function useFullScreen() {
  const [full, show] = useState(false);
  const now = useRef(false); // of this moment: keys may follow each other before the page is drawn
  const set = (/** @type {boolean} */ value) => {
    now.current = value;
    show(value);
  };
  const toggle = () => {
    const was = now.current;
    set(!was);
    // Some phones have no full screen: there the page alone makes room.
    const turned = was ? document.fullscreenElement && document.exitFullscreen() : document.documentElement.requestFullscreen?.();
    turned?.catch(() => {});
  };
  useEffect(() => {
    const changed = () => document.fullscreenElement || set(false);
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      const at = /** @type {Element | null} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || at?.closest("input, select, textarea")) return;
      if (event.key === "Escape") set(false);
      else if (event.key.toLowerCase() === "f") toggle();
    };
    document.addEventListener("fullscreenchange", changed);
    addEventListener("keydown", pressed);
    return () => {
      document.removeEventListener("fullscreenchange", changed);
      removeEventListener("keydown", pressed);
    };
  }, []);
  return [full, toggle];
}

/** The caption of a view. @param {{page: Page, which: "variant" | "beside"}} props */
export function Caption({ page, which }) {
  const { store } = page;
  useStore(store, "time", "tracks");
  const track = store.tracks.get(store[which] || store.variant);
  if (!track) return null;
  return html`<p class="caption" data-caption=${which}>
    <span><b class="num">${us(store.time)}</b> ${track.label}</span>
    <span>${told(track, store.past(track), store.time)}</span></p>`;
}

/** Words for the last event and for what followed from it. @param {Track} track @param {RunEvent[]} past @param {number} time */
function told(track, past, time) {
  const { end } = track;
  if (end && end.completion_ps && time >= end.completion_ps)
    return `finished after ${us(end.completion_ps)}; data are right on ${count(end.correct)} of ${count(end.nodes)} nodes`;
  const last = past.findLastIndex((event) => !["control", "summary"].includes(classOf(event.kind)));
  if (last < 0) return "";
  const done = { notice: 0, rewrite: 0 };
  for (const event of past.slice(last + 1)) done[/** @type {"notice" | "rewrite"} */ (event.kind)] += event.count ?? 1;
  const since = [
    done.notice && `${count(done.notice)} notice${done.notice > 1 ? "s" : ""} sent`,
    done.rewrite && `${count(done.rewrite)} table entr${done.rewrite > 1 ? "ies" : "y"} rewritten`,
  ].filter(Boolean);
  const { text, t, by } = past[last];
  return `${text}${by === "hand" ? " by hand" : ""} at ${us(t)}${since.length ? `; since then ${since.join(", ")}` : ""}`;
}
