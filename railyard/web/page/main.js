// SPDX-License-Identifier: Apache-2.0
/**
 * The page: fabric, time and panels. docs/page.md is its tour.
 *
 * @import { FaultKeys, RunEvent, Track } from "./types"
 */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Connection } from "./connection.js";
import { Camera, FabricView } from "./drawing/fabric.js";
import { LEVELS } from "./drawing/levels.js";
import { Head } from "./head.js";
import { PANELS } from "./panels.js";
import { Chosen } from "./panels/hands.js";
import { Caption, useFullScreen } from "./presentation.js";
import { Store, lastBefore } from "./store.js";
import { Timeline } from "./timeline.js";
import { html, useStore } from "./ui.js";
import { classOf, count, us } from "./words.js";

/** The parts of the page that panels may use. */
export class Page {
  store = new Store();
  connection = new Connection(this.store);
  camera = new Camera();
  /** @type {FabricView[]} */ views = [];
  announce = (/** @type {string} */ words) => {};

  /** The scene of the variant that panels describe. */
  scene() {
    return (this.views.find(({ track }) => track === this.store.chosen) ?? this.views[0])?.scene ?? null;
  }

  /** Show the time of an event of a variant, and choose what it is about. @param {RunEvent} event @param {Track} track */
  goTo(event, track) {
    const { store } = this;
    store.playing = false;
    store.seek(event.at ?? event.t);
    store.pane = track === store.track ? "variant" : "beside";
    store.changed("selection");
    const scene = this.scene();
    const link = event.links?.length === 1 ? scene?.linkAt.get(event.links[0]) : undefined;
    const node = event.node === undefined ? undefined : scene?.nodeAt.get(event.node);
    if (link !== undefined) store.select({ kind: "link", at: link });
    else if (node !== undefined) store.select({ kind: "node", at: node });
  }

  /** Strike with a fault now. @param {FaultKeys} keys */
  async strike(keys) {
    const { store } = this;
    if (!store.follow) store.seek(store.span, true);
    try {
      const { keys: struck } = await this.connection.call({ do: "fault", keys });
      const [name] = ["link", "circuit", "switch", "npu", "gpu"].map((key) => struck[key]).filter(Boolean);
      store.say(`Done by hand at ${us(struck.at_us * 1e6)}: ${name}, ${struck.event}.`);
    } catch (error) {
      store.say(String(/** @type {Error} */ (error).message), true);
    }
  }

  /** Offer the scenario with the faults by hand as a file. */
  async save() {
    try {
      const { text } = await this.connection.call({ do: "save" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
      link.download = `${this.store.header?.scenario ?? "scenario"}-by-hand.yaml`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      this.store.say("Saved. Put the file beside the scenario if that names other files, and give it to railyard run.");
    } catch (error) {
      this.store.say(String(/** @type {Error} */ (error).message), true);
    }
  }
}

const ICONS = {
  play: "M4 2v12l10-6z", pause: "M3 2h4v12H3zM9 2h4v12H9z", step: "M3 2v12l7-6zM11 2h2v12h-2z",
  event: "M2 3l6 5-6 5zM8 3l6 5-6 5z", first: "M3 2h2v12H3zM13 2v12L6 8z",
  full: "M2 2h5v2H4v3H2zM9 2h5v5h-2V4H9zM2 9h2v3h3v2H2zM12 9h2v5H9v-2h3z",
};
/** @param {{name: keyof typeof ICONS}} props */
const Icon = ({ name }) => html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;

/** @param {{page: Page, which: "variant" | "beside", full: boolean, toggle: () => void}} props */
function View({ page, which, full, toggle }) {
  const { store } = page;
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [by, colourBy] = useState("load");
  useStore(store, "tracks", "fabric", "selection");
  useEffect(() => {
    if (!canvas.current) return;
    const view = new FabricView(canvas.current, store, page.camera, which, page.announce);
    page.views = which === "variant" ? [view, ...page.views] : [...page.views, view];
    store.changed("fabric");
    return () => {
      page.views = page.views.filter((other) => other !== view);
      view.dispose();
    };
  }, []);
  const view = page.views.find(({ canvas: of }) => of === canvas.current);
  if (view && view.by !== by) {
    view.by = /** @type {"load" | "queue"} */ (by);
    view.redraw();
  }
  // The size of the picture follows when it has its place.
  useEffect(() => {
    const { views, camera } = page;
    for (const view of views) view.full = full;
    if (camera.fitted) views[0]?.fit();
  }, [full]);
  const names = [...store.tracks.keys()];
  const fabric = store.fabric;
  const words = fabric ? `Fabric ${fabric.name}: ${fabric.nodes.name.length} nodes and ${fabric.links.name.length} links. ` +
    "Arrow keys choose nodes, L their links, plus and minus zoom, 0 shows all." : "";
  const choose = (/** @type {any} */ event) => {
    if (which === "variant") return store.show(event.target.value);
    store.beside = event.target.value;
    store.changed("tracks");
  };
  return html`<section class="view">
    <canvas ref=${canvas} tabindex="0" role="application" aria-label=${words} data-view=${which}></canvas>
    <div class="label">
      <label class="visually-hidden" for=${`variant-${which}`}>variant</label>
      <select id=${`variant-${which}`} value=${store[which]} onChange=${choose}>
        ${names.map((name) => html`<option value=${name}>${store.tracks.get(name)?.label}</option>`)}
        ${!names.length && html`<option>${fabric?.name ?? ""}</option>`}
      </select>
      ${which === "variant" && names.length > 1 && html`<button class="quiet" aria-pressed=${!!store.beside}
        onClick=${() => {
          store.beside = store.beside ? "" : names.find((name) => name !== store.variant) ?? "";
          store.changed("tracks");
        }}>compare</button>`}
      ${full && store.chosen === store.tracks.get(store[which]) && html`<${Chosen} page=${page} />`}
    </div>
    <div class="tools" role="toolbar" aria-label="picture">
      <button title="zoom in" aria-label="zoom in" onClick=${() => zoom(page, 1.3)}>+</button>
      <button title="zoom out" aria-label="zoom out" onClick=${() => zoom(page, 1 / 1.3)}>−</button>
      <button title="show the whole fabric" aria-label="show the whole fabric" onClick=${() => page.views[0]?.fit()}>⤢</button>
      <button title="colour links by waiting bytes instead of load" aria-label="colour by queue" aria-pressed=${by === "queue"}
        onClick=${() => colourBy(by === "queue" ? "load" : "queue")}>Q</button>
      ${which === "variant" && html`<button title="full screen with a caption (F)" aria-label="full screen" aria-pressed=${full}
        onClick=${toggle}><${Icon} name="full" /></button>`}
    </div>
    ${which === "variant" && html`<${Legend} by=${by} />`}
    ${full && html`<${Caption} page=${page} which=${which} />`}
  </section>`;
}

/** @param {Page} page @param {number} factor */
function zoom(page, factor) {
  const canvas = page.views[0]?.canvas;
  if (canvas) page.camera.zoom(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
}

/** @param {{by: string}} props */
const Legend = ({ by }) => html`<div class="legend">
  <span>${by === "queue" ? "waiting" : "load"} 0 % <span class="ramp">${[...Array(LEVELS).keys()].map(
    (level) => html`<i style=${`background:var(--load-${level})`}></i>`,
  )}</span> 100 %</span>
  <span class="wide">each half: what leaves that end</span>
  <span><i class="dash" style="border-color:var(--down)"></i> down</span>
  <span class="wide"><i class="dash" style="border-color:var(--impaired)"></i> impaired</span>
  <span class="wide"><i class="dash" style="border-color:var(--paused)"></i> paused</span>
</div>`;

/** Paces: seconds that a replay takes, and about those that a variant of a live run takes; 0: as fast as it can. */
const PACES = [0, 10, 30, 120, 600];

/** @param {{page: Page}} props */
function Time({ page }) {
  const { store } = page;
  useStore(store, "time", "tracks", "session");
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const [seconds, pace] = useState(30);
  const sent = useRef(/** @type {number | null} */ (null));
  useEffect(() => {
    if (!host.current) return;
    const timeline = new Timeline(host.current, store);
    return timeline.dispose;
  }, []);
  const { session, track } = store;
  const live = session.mode === "live" && !session.ended && store.follow;
  const running = live ? !session.paused : store.playing;
  const allowed = track !== undefined && !(live && session.read_only);
  const play = (/** @type {number} */ of) => {
    if (live) {
      sent.current = of && track ? store.expected(track) / 1e6 / of : null;
      page.connection.send({ do: "play", pace: sent.current });
    } else {
      if (store.time >= store.span) store.seek(0);
      store.seconds = of || 4;
      store.playing = true;
      store.changed("time");
    }
  };
  // The next variant of a run at the pace of this page gets a pace of its own.
  useEffect(() => {
    if (live && running && sent.current !== null && session.pace === sent.current) play(seconds);
  }, [track?.name]);
  const toggle = () => {
    if (!running) return play(seconds);
    if (live) page.connection.send({ do: "pause" });
    else store.playing = false;
    store.changed("time");
  };
  // The space bar plays and pauses wherever it has no meaning of its own.
  const pressed = useRef(toggle);
  pressed.current = () => allowed && toggle();
  useEffect(() => {
    const space = (/** @type {KeyboardEvent} */ event) => {
      const at = /** @type {Element | null} */ (event.target);
      if (event.key !== " " || at?.closest("button:not([aria-selected=true]), input, select, textarea, a")) return;
      pressed.current();
      event.preventDefault();
    };
    addEventListener("keydown", space);
    return () => removeEventListener("keydown", space);
  }, []);
  const step = (/** @type {number} */ by) => {
    if (live && by > 0) return page.connection.send({ do: "step" });
    // Take the ticks of the variant that lasts longer, so that steps reach its end.
    const last = (/** @type {Track} */ { ticks }) => ticks.at(-1)?.t ?? 0;
    const [{ ticks } = { ticks: [] }] = [...store.shown].sort((a, b) => last(b) - last(a));
    if (!ticks.length) return;
    store.playing = false;
    store.seek(ticks[Math.max(0, Math.min(ticks.length - 1, lastBefore(ticks, store.time) + by))].t);
  };
  const next = (/** @type {number} */ by) => {
    if (live && by > 0) return page.connection.send({ do: "step", to: "event" });
    const events = store.events.filter(
      ({ event: { t, kind } }) => classOf(kind) !== "summary" && (by > 0 ? t > store.time : t < store.time),
    );
    const found = events.at(by > 0 ? 0 : -1);
    if (found) page.goTo(found.event, found.track);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => step(1), ArrowLeft: () => step(-1), PageDown: () => next(1), PageUp: () => next(-1),
      Home: () => store.seek(0), End: () => store.seek(store.span, session.mode === "live"),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  };
  return html`<footer class="time">
    <div class="transport" role="toolbar" aria-label="time">
      ${!live && html`<button title="to the beginning" aria-label="to the beginning" onClick=${() => store.seek(0)}><${Icon} name="first" /></button>`}
      <button class="primary" title=${running ? "pause" : "play"} aria-label=${running ? "pause" : "play"} disabled=${!allowed} onClick=${toggle}>
        <${Icon} name=${running ? "pause" : "play"} /></button>
      <button title="one tick further" aria-label="one tick further" disabled=${!allowed} onClick=${() => step(1)}><${Icon} name="step" /></button>
      <button title="to the next event" aria-label="to the next event" disabled=${!allowed} onClick=${() => next(1)}><${Icon} name="event" /></button>
      ${!(live && session.real) && html`<select aria-label="pace" value=${seconds} disabled=${!allowed} title=${live
        ? "an estimate: nobody knows before its end how long a run takes" : "the time that the replay takes"} onChange=${(/** @type {any} */ event) => {
        pace(Number(event.target.value));
        if (running) play(Number(event.target.value));
      }}>${PACES.map((of) => html`<option value=${of}>${of ? `${live ? "in about" : "run in"} ${of < 60 ? `${of} s` : `${of / 60} min`}` : "as fast as it can"}</option>`)}</select>`}
      ${session.mode === "live" && session.ended && !session.read_only && store.connection === "open" && html`
        <button onClick=${() => { store.follow = true; page.connection.send({ do: "again" }); }}>Run again</button>`}
      ${session.mode === "live" && !session.ended && !store.follow && html`
        <button class="primary" onClick=${() => { store.show(session.variant); store.seek(store.span, true); }}>Back to now</button>`}
    </div>
    <div class="scrub" ref=${host} role="slider" tabindex="0" aria-label="time" aria-valuemin="0"
      aria-valuemax=${Math.round(store.span)} aria-valuenow=${Math.round(store.time)} aria-valuetext=${us(store.time)} onKeyDown=${key}></div>
    <div class="clock num"><b>${us(store.time)}</b><small>${track?.end ? `of ${us(store.span)}` : track?.dilation ? `slowed down ${count(track.dilation)} times` : "virtual time"}</small></div>
  </footer>`;
}

/** @param {{page: Page}} props */
function Side({ page }) {
  const [tab, show] = useState(PANELS[0].id);
  const { Panel } = PANELS.find(({ id }) => id === tab) ?? PANELS[0];
  const walk = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const { id } = PANELS[(PANELS.findIndex((panel) => panel.id === tab) + by + PANELS.length) % PANELS.length];
    show(id);
    document.getElementById(`tab-${id}`)?.focus();
    event.preventDefault();
  };
  return html`<aside class="side">
    <div class="tabs" role="tablist" aria-label="panels">
      ${PANELS.map(({ id, label }) => html`<button role="tab" id=${`tab-${id}`} aria-selected=${id === tab}
        tabindex=${id === tab ? 0 : -1} aria-controls="panel" onClick=${() => show(id)} onKeyDown=${walk}>${label}</button>`)}
    </div>
    <div class="panel" id="panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}><${Panel} page=${page} /></div>
  </aside>`;
}

/** Give the picture the keys that nothing else has: a button that a pointer has pressed does not keep the focus, as
 * the space bar would press it again. Returns what ends it. @param {Page} page */
function keysOfPicture(page) {
  const pressed = (/** @type {MouseEvent} */ event) => {
    const button = /** @type {Element | null} */ (event.target)?.closest("button:not([role=tab])");
    if (event.detail > 0) /** @type {HTMLElement | null} */ (button)?.blur();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.target !== document.body || event.ctrlKey || event.metaKey || event.altKey) return;
    (page.views.find(({ pane }) => pane === page.store.pane) ?? page.views[0])?.key(event);
  };
  addEventListener("click", pressed);
  addEventListener("keydown", key);
  return () => {
    removeEventListener("click", pressed);
    removeEventListener("keydown", key);
  };
}

/** @param {{page: Page}} props */
function App({ page }) {
  const { store } = page;
  const [said, say] = useState("");
  page.announce = say;
  useStore(store, "tracks");
  const [full, toggle] = useFullScreen();
  useEffect(() => keysOfPicture(page), []);
  const two = store.beside && store.tracks.has(store.beside);
  return html`<div class=${`shell ${full ? "full" : ""}`}>
    <${Head} page=${page} />
    <main class=${`stage ${two ? "two" : ""}`}>
      <${View} page=${page} which="variant" full=${full} toggle=${toggle} />
      ${two && html`<${View} key="beside" page=${page} which="beside" full=${full} toggle=${toggle} />`}
    </main>
    <${Side} page=${page} />
    <${Time} page=${page} />
    <div class="visually-hidden" aria-live="polite">${said}</div>
  </div>`;
}

/** Let time pass while the page plays by itself; a page at rest asks for no display frames. @param {Store} store */
function clock(store) {
  let before = 0;
  let frame = 0;
  const turn = (/** @type {number} */ now) => {
    const passed = Math.min(0.25, (now - before) / 1000);
    before = now;
    frame = 0;
    if (!store.playing) return;
    const time = store.time + (passed * store.span) / store.seconds;
    if (time >= store.span) store.playing = false;
    store.seek(time);
    frame = requestAnimationFrame(turn);
  };
  store.onPlaying = () => {
    before = performance.now();
    if (!frame) frame = requestAnimationFrame(turn);
  };
}

const page = new Page();
// For the console of the browser, and for tests.
Object.assign(window, { page });
const root = document.getElementById("app");
if (root) {
  root.textContent = "";
  render(html`<${App} page=${page} />`, root);
}
page.connection.connect();
clock(page.store);
