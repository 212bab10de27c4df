// SPDX-License-Identifier: Apache-2.0
/**
 * The scrubber: data that arrived over time, marks of events, and the time that is shown.
 *
 * @import { Track } from "./types"
 * @import { Store } from "./store.js"
 */
import { classOf } from "./words.js";

const PAD = 8;

export class Timeline {
  #frame = 0;

  /** @param {HTMLElement} host @param {Store} store */
  constructor(host, store) {
    this.host = host;
    this.store = store;
    this.canvas = document.createElement("canvas");
    host.append(this.canvas);
    const redraw = () => this.redraw();
    const forget = store.on(redraw);
    const observer = new ResizeObserver(redraw);
    observer.observe(host);
    const drag = (/** @type {PointerEvent} */ event) => {
      if (event.buttons !== 1) return;
      const box = host.getBoundingClientRect();
      const share = (event.clientX - box.left - PAD) / (box.width - 2 * PAD);
      store.playing = false;
      store.seek(Math.max(0, Math.min(1, share)) * store.span);
    };
    host.addEventListener("pointerdown", (event) => {
      host.setPointerCapture(event.pointerId);
      drag(event);
    });
    host.addEventListener("pointermove", drag);
    this.dispose = () => {
      forget();
      observer.disconnect();
      this.canvas.remove();
    };
    redraw();
  }

  redraw() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.#frame = 0;
    const { canvas, store } = this;
    const ratio = devicePixelRatio;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const c = canvas.getContext("2d");
    if (!c || !width) return;
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    c.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    c.fillStyle = colour("--page");
    c.fillRect(0, 0, width, height);
    const { track, span } = store;
    const x = (/** @type {number} */ t) => PAD + (Math.min(t, span) / span) * (width - 2 * PAD);
    const floor = height - 14;
    if (track) this.#area(c, track, x, floor, colour("--load-3"));
    for (const shown of store.shown) this.#events(c, shown, x, floor, height, colour);
    c.strokeStyle = colour("--line-strong");
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(PAD, floor + 0.5);
    c.lineTo(width - PAD, floor + 0.5);
    c.stroke();
    const now = x(store.time);
    c.strokeStyle = colour("--text");
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(now, 3);
    c.lineTo(now, height - 3);
    c.stroke();
    c.fillStyle = colour("--text");
    c.beginPath();
    c.arc(now, 6, 4.5, 0, 2 * Math.PI);
    c.fill();
  }

  /** @param {CanvasRenderingContext2D} c @param {Track} track @param {(t: number) => number} x
   * @param {number} floor @param {string} colour */
  #area(c, track, x, floor, colour) {
    const bins = new Float64Array(Math.max(1, Math.round(x(this.store.span)) + 1));
    const { ticks } = track;
    for (let i = 1; i < ticks.length; i++) {
      const [from, to] = [x(ticks[i - 1].t), x(ticks[i].t)];
      const arrived = ticks[i].totals[0] - ticks[i - 1].totals[0];
      const [first, last] = [Math.floor(from), Math.max(Math.floor(from), Math.ceil(to) - 1)];
      for (let at = first; at <= last; at++) bins[at] += arrived / (last - first + 1);
    }
    let most = 0;
    const smooth = bins.map((_, at) => (bins[at - 2] || 0) + (bins[at - 1] || 0) + bins[at] + (bins[at + 1] || 0) + (bins[at + 2] || 0));
    for (const value of smooth) most = Math.max(most, value);
    if (!most) return;
    c.fillStyle = colour;
    c.globalAlpha = 0.5;
    c.beginPath();
    c.moveTo(PAD, floor);
    smooth.forEach((value, at) => at >= PAD && c.lineTo(at, floor - (value / most) * (floor - 8)));
    c.lineTo(smooth.length - 1, floor);
    c.fill();
    c.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} c @param {Track} track @param {(t: number) => number} x
   * @param {number} floor @param {number} height @param {(name: string) => string} colour */
  #events(c, track, x, floor, height, colour) {
    /** @type {Record<string, string>} */
    const colours = { fault: colour("--down"), job: colour("--good"), control: colour("--accent"), change: "#a76ad1" };
    for (const { t } of track.planned) {
      c.fillStyle = colours.fault;
      c.globalAlpha = 0.35;
      c.fillRect(x(t) - 1, 4, 2, floor - 4);
    }
    for (const { t, kind } of track.events) {
      const group = classOf(kind);
      if (group === "summary") continue;
      c.fillStyle = colours[group];
      c.globalAlpha = group === "control" ? 0.5 : 1;
      if (group === "control") c.fillRect(x(t) - 0.5, floor + 3, 1, height - floor - 6);
      else {
        if (group === "fault") c.fillRect(x(t) - 1, 4, 2, floor - 4);
        c.beginPath();
        c.moveTo(x(t) - 5, height - 2);
        c.lineTo(x(t) + 5, height - 2);
        c.lineTo(x(t), floor + 2);
        c.fill();
      }
    }
    c.globalAlpha = 1;
  }
}
