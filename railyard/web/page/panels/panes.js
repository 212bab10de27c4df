// SPDX-License-Identifier: Apache-2.0
/**
 * The variants beside each other, by name: a panel describes the one that is pressed.
 *
 * @import { Page } from "../main.js"
 */
import { html } from "../ui.js";

/** @param {{page: Page}} props */
export function Panes({ page }) {
  const { store } = page;
  if (store.shown.length < 2) return null;
  return html`<div class="row panes" role="group" aria-label="variant described">
    ${store.shown.map((track) => html`<button key=${track.name} aria-pressed=${track === store.chosen}
      onClick=${() => store.select(store.selection, track === store.track ? "variant" : "beside")}>${track.label}</button>`)}
  </div>`;
}
