// SPDX-License-Identifier: Apache-2.0
/**
 * The view of a fabric: a canvas with zoom, pan, choice by pointer and by keyboard.
 *
 * @import { RunEvent, Selection } from "../types"
 * @import { Store } from "../store.js"
 * @import { View } from "./levels.js"
 */
import { Scene } from "./scene.js";
import { USUAL } from "./levels.js";
import { Painter, coloursOf } from "./paint.js";

const LEAST = 0.5; // pixels a unit
const MOST = 400;
const FITTED = 2 * USUAL; // of a fabric that is shown whole beside the panels: a small one leaves some air
// Pixels beside, above and below a fabric that is shown whole, for what lies over the picture.
const SIDES = 16;
const TOP = 44;
const BOTTOM = 44;

/** Zoom and pan that two views beside each other share. */
export class Camera {
  /** @type {View} */ view = { x: 0, y: 0, scale: 40 };
  fitted = true;
  /** @type {Set<() => void>} */ listeners = new Set();

  moved() {
    for (const listener of this.listeners) listener();
  }

  /** Zoom about a point of the canvas. @param {number} factor @param {number} x @param {number} y */
  zoom(factor, x, y) {
    const { view } = this;
    const scale = Math.max(LEAST, Math.min(MOST, view.scale * factor));
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    this.fitted = false;
    this.moved();
  }

  /** @param {number} dx @param {number} dy in pixels */
  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y -= dy / this.view.scale;
    this.fitted = false;
    this.moved();
  }
}

export class FabricView {
  /** @type {Scene | null} */ scene = null;
  /** @type {Selection} */ hover = null;
  /** @type {"load" | "queue"} */ by = "load";
  /** True in full screen, where the picture takes all the room there is. */
  full = false;
  /** Milliseconds that painting took, the latest last. @type {number[]} */ times = [];
  #frame = 0;
  #names = 0;
  /** @type {unknown} */ #of = null;
  /** @type {Map<number, {x: number, y: number}>} */ #pointers = new Map();
  #moved = 0;

  /** @param {HTMLCanvasElement} canvas @param {Store} store @param {Camera} camera
   * @param {"variant" | "beside"} pane @param {(words: string) => void} announce */
  constructor(canvas, store, camera, pane, announce) {
    this.canvas = canvas;
    this.store = store;
    this.camera = camera;
    this.pane = pane;
    this.announce = announce;
    this.painter = new Painter(canvas);
    const redraw = () => this.redraw();
    camera.listeners.add(redraw);
    const forget = store.on(redraw);
    const observer = new ResizeObserver(() => {
      if (this.camera.fitted) this.fit();
      redraw();
    });
    observer.observe(canvas);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", redraw);
    this.#listen();
    this.dispose = () => {
      camera.listeners.delete(redraw);
      forget();
      observer.disconnect();
      dark.removeEventListener("change", redraw);
    };
    redraw();
  }

  get track() {
    return this.store.tracks.get(this.store[this.pane] || this.store.variant);
  }

  redraw() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #update() {
    const { fabric } = this.store;
    const names = this.track?.links ?? fabric?.links.name ?? [];
    if (!fabric || (this.scene && this.#names === names.length && this.#of === fabric)) return;
    const first = !this.scene || this.#of !== fabric;
    this.scene = new Scene(fabric, [...names]);
    this.#names = names.length;
    this.#of = fabric;
    if (first && this.camera.fitted) this.fit();
  }

  #paint() {
    this.#frame = 0;
    this.#update();
    if (!this.canvas.clientWidth) return;
    const began = performance.now();
    const root = document.documentElement;
    const style = getComputedStyle(root);
    if (!this.scene) return this.painter.clear(style.getPropertyValue("--canvas").trim());
    const { track } = this;
    this.painter.paint(this.scene, this.camera.view, this.store.at(track), {
      colours: coloursOf(root),
      background: style.getPropertyValue("--canvas").trim(),
      theme: style.getPropertyValue("--theme"),
      by: this.by,
      jobs: track?.jobs ?? [],
      selection: this.store.selection,
      hover: this.hover,
      ...failed(track?.events ?? [], this.store.time),
      fresh: new Set([...this.store.turned(track)].filter(([, up]) => !up).map(([link]) => link)),
    });
    this.times.push(performance.now() - began);
    if (this.times.length > 120) this.times.shift();
  }

  /** Show the whole fabric, beside the buttons where it would lie behind them. */
  fit() {
    if (!this.scene || !this.canvas.clientWidth) return;
    const { box } = this.scene;
    const tools = /** @type {HTMLElement | null} */ (this.canvas.parentElement?.querySelector(".tools"));
    const legend = /** @type {HTMLElement | null} */ (this.canvas.parentElement?.querySelector(".legend"));
    const { clientWidth, clientHeight } = this.canvas;
    const below = this.full && legend?.offsetHeight ? clientHeight - legend.offsetTop + 6 : 0;
    const height = clientHeight - TOP - Math.max(BOTTOM, below);
    const within = (/** @type {number} */ wide) => {
      const scale = Math.max(LEAST, Math.min(this.full ? MOST : FITTED, (wide - SIDES) / box.width, height / box.height));
      return { scale, left: (wide - box.width * scale) / 2, top: TOP + (height - box.height * scale) / 2 };
    };
    let { scale, left, top } = within(clientWidth);
    if (tools?.offsetWidth && left + box.width * scale > tools.offsetLeft && top < tools.offsetTop + tools.offsetHeight)
      ({ scale, left, top } = within(tools.offsetLeft));
    this.camera.view.scale = scale;
    this.camera.view.x = box.x - left / scale;
    this.camera.view.y = box.y - top / scale;
    this.camera.fitted = true;
    this.camera.moved();
  }

  /** The node or link at a place of the canvas. @param {number} x @param {number} y @returns {Selection} */
  at(x, y) {
    const { view } = this.camera;
    return this.scene?.hit(view.x + x / view.scale, view.y + y / view.scale, 7 / view.scale) ?? null;
  }

  /** Place of a node, or of the middle of a link, on the canvas. @param {Selection} chosen */
  placeOf(chosen) {
    if (!chosen || !this.scene) return null;
    const { view } = this.camera;
    const [x, y] =
      chosen.kind === "node"
        ? [this.scene.x[chosen.at], this.scene.y[chosen.at]]
        : [this.scene.mx[chosen.at], this.scene.my[chosen.at]];
    return { x: (x - view.x) * view.scale, y: (y - view.y) * view.scale };
  }

  #listen() {
    const { canvas } = this;
    const place = (/** @type {MouseEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      this.camera.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, place(event));
      this.#moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event);
      const before = this.#pointers.get(event.pointerId);
      if (!before) return this.#over(now);
      const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
      this.#pointers.set(event.pointerId, now);
      this.#moved += Math.hypot(now.x - before.x, now.y - before.y);
      if (other) {
        const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
        if (Number.isFinite(factor)) this.camera.zoom(factor, (now.x + other.x) / 2, (now.y + other.y) / 2);
      } else if (this.#moved > 4) this.camera.pan(now.x - before.x, now.y - before.y);
    });
    const up = (/** @type {PointerEvent} */ event) => {
      const where = this.#pointers.get(event.pointerId);
      this.#pointers.delete(event.pointerId);
      if (where && event.type === "pointerup" && this.#moved <= 4) this.store.select(this.at(where.x, where.y), this.pane);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.#over(null));
    canvas.addEventListener("dblclick", (event) => this.camera.zoom(2, place(event).x, place(event).y));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {{x: number, y: number} | null} where */
  #over(where) {
    const hover = where && this.at(where.x, where.y);
    if (hover?.kind === this.hover?.kind && hover?.at === this.hover?.at) return;
    this.hover = hover;
    this.canvas.style.cursor = hover ? "pointer" : "grab";
    this.canvas.title = hover ? this.nameOf(hover) : "";
    this.redraw();
  }

  /** @param {Selection} chosen */
  nameOf(chosen) {
    if (!chosen || !this.scene) return "";
    return chosen.kind === "node" ? this.scene.fabric.nodes.name[chosen.at] : this.scene.names[chosen.at];
  }

  /** Keys: arrows walk from node to node, L its links, + and - zoom, 0 shows all, Escape chooses nothing.
   * @param {KeyboardEvent} event */
  key(event) {
    const { scene, store } = this;
    if (!scene) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    /** @type {Record<string, [number, number]>} */
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const chosen = store.selection;
    if (arrows[event.key]) {
      const from = chosen?.kind === "node" ? chosen.at : chosen?.kind === "link" ? scene.a[chosen.at] : -1;
      store.select({ kind: "node", at: from < 0 ? 0 : scene.beside(from, ...arrows[event.key]) }, this.pane);
    } else if (event.key === "l" || event.key === "L") {
      const node = chosen?.kind === "node" ? chosen.at : chosen?.kind === "link" ? scene.a[chosen.at] : 0;
      const links = scene.linksOf[node];
      if (!links.length) return;
      const next = chosen?.kind === "link" ? (links.indexOf(chosen.at) + (event.shiftKey ? links.length - 1 : 1)) % links.length : 0;
      store.select({ kind: "link", at: links[next] }, this.pane);
    } else if (event.key === "+" || event.key === "=") this.camera.zoom(1.25, width / 2, height / 2);
    else if (event.key === "-") this.camera.zoom(0.8, width / 2, height / 2);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape") store.select(null, this.pane);
    else return;
    event.preventDefault();
    const name = this.nameOf(store.selection);
    if (name) this.announce(`${store.selection?.kind} ${name}`);
  }
}

/** Links that a fault holds down at a time, and those of a deadlock up to then.
 * @param {RunEvent[]} events in order of time @param {number} time @returns {{faulty: Set<string>, stuck: string[]}} */
function failed(events, time) {
  /** @type {Set<string>} */ const faulty = new Set();
  /** @type {string[]} */ let stuck = [];
  for (const { t, kind, event, links } of events) {
    if (t > time) break;
    if (kind === "deadlock") stuck = links ?? [];
    if (kind !== "fault") continue;
    for (const link of links ?? []) {
      if (event === "down" || event === "flap") faulty.add(link);
      else if (event === "up") faulty.delete(link);
    }
  }
  return { faulty, stuck };
}
