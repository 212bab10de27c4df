// SPDX-License-Identifier: Apache-2.0
/**
 * The head of the page: title, state of the session, and notices, which lie over nothing. In full screen it has notices alone.
 *
 * @import { Page } from "./main.js"
 */
import { useEffect, useState } from "preact/hooks";
import { html, useStore } from "./ui.js";

/** @param {{page: Page}} props */
export function Head({ page }) {
  const { store } = page;
  useStore(store, "tracks", "session");
  const { session, connection, header } = store;
  const [words, kind] =
    connection === "refused" ? ["not connected", "off"]
    : connection === "closed" ? ["ended", "off"]
    : connection === "connecting" ? ["connecting", ""]
    : session.mode === "replay" ? ["replay", ""]
    : session.ended ? ["finished", ""]
    : session.paused ? ["live, paused", "live"] : [session.real ? "live, in real time" : "live", "live"];
  return html`<header class="head">
    <div class="mark"><img src="/page/icon.svg" alt="" /> Railyard</div>
    <h1 title=${header?.title}>${header?.title ?? ""}</h1>
    <${Notice} page=${page} />
    ${session.read_only && session.mode === "live" && html`<span class="pill">read-only</span>`}
    <span class=${`pill ${kind}`} role="status">${words}</span>
  </header>`;
}

/** @param {{page: Page}} props */
function Notice({ page }) {
  const { store } = page;
  useStore(store, "notice", "session");
  const { session, connection, farewell, notice } = store;
  const gone = connection === "closed" || connection === "refused";
  const lasting = gone ? farewell : session.ended && session.words ? `The run has ended: ${session.words}.` : "";
  const [heard, hear] = useState("");
  // A notice closed after one run appears again after the next.
  useEffect(() => {
    if (!lasting) hear("");
  }, [lasting]);
  const text = notice?.text ?? (lasting === heard ? "" : lasting);
  if (!text) return null;
  const close = () => (notice ? store.say("") : hear(lasting));
  return html`<div class=${`notice ${notice?.bad || gone ? "bad" : ""}`} role="alert">
    <span>${text}</span><button class="quiet" aria-label="close" onClick=${close}>✕</button></div>`;
}
