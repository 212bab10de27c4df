// SPDX-License-Identifier: Apache-2.0
/**
 * Painting of a fabric on a canvas: links by buckets of colours, a path a bucket, or pixel by pixel in a large
 * fabric; idle links and nodes from pictures that last until the view changes.
 *
 * Each half of a link has the colour of what leaves the node at that end.
 *
 * @import { Job, Selection, Tick } from "../types"
 * @import { View } from "./levels.js"
 * @import { Scene } from "./scene.js"
 */
import { LEVELS, UP, growth, levelOf, pixel } from "./levels.js";
import { paintRacks } from "./racks.js";
import { Raster } from "./raster.js";

const MANY = 1500; // links from which their pixels are kept: paths would cost a tenth of a second a frame
const LABELS = 24; // pixels a unit from which nodes have labels
const RACKS = 5; // pixels a unit below which racks are drawn in place of their nodes
const SHORT = 120; // pixels below which a link of a large fabric has one colour
const IMPAIRED = 6;
const PAUSED = 24;

/** @typedef {{levels: string[], idle: string, down: string, impaired: string, paused: string, node: string, edge: string,
 *   text: string, dim: string, accent: string, box: string, jobs: string[]}} Colours */

/** Colours of the page's theme, from its style sheet. @returns {Colours} */
export function coloursOf(/** @type {Element} */ element) {
  const style = getComputedStyle(element);
  const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    levels: [...Array(LEVELS).keys()].map((level) => value(`--load-${level}`)),
    idle: value("--link-idle"),
    down: value("--down"),
    impaired: value("--impaired"),
    paused: value("--paused"),
    node: value("--node"),
    edge: value("--node-edge"),
    text: value("--text"),
    dim: value("--text-dim"),
    accent: value("--accent"),
    box: value("--group"),
    jobs: [...Array(7).keys()].map((job) => value(`--job-${job}`)),
  };
}

export class Painter {
  #idle = document.createElement("canvas");
  #key = "";
  #nodeLayer = document.createElement("canvas");
  #nodeKey = "";
  /** @type {unknown} */ #jobs = null;
  /** @type {Raster | null} */ #raster = null;
  #ground = new Uint32Array(0);
  /** @type {ImageData | null} */ #image = null;
  /** Colours of levels as #rrggbb. @type {string[]} */ #levels = [];
  /** @type {unknown} */ #painted = null;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser has no canvas");
    this.context = context;
  }

  /** Paint the background alone. @param {string} background */
  clear(background) {
    this.context.fillStyle = background;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** Paint everything once.
   * @param {Scene} scene @param {View} view @param {Tick | null} tick
   * @param {{colours: Colours, background: string, theme: string, by: "load" | "queue", jobs: Job[],
   *   selection: Selection, hover: Selection, faulty: Set<string>, fresh: Set<string>, stuck: string[]}} how
   *   links that a fault holds down, that went down after the tick, and those of a deadlock */
  paint(scene, view, tick, how) {
    const ratio = devicePixelRatio;
    const { context: c, canvas } = this;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const racks = view.scale < RACKS && scene.racks.length > 0 && scene.names.length > 4000;
    this.#background(scene, view, how, racks);
    c.setTransform(1, 0, 0, 1, 0, 0);
    const many = scene.names.length > MANY && !racks && tick !== null;
    if (many) this.#pixels(scene, view, tick, how);
    else c.drawImage(this.#idle, 0, 0);
    const scale = view.scale * ratio;
    c.setTransform(scale, 0, 0, scale, -view.x * scale, -view.y * scale);
    this.#marks(scene, view, how);
    if (racks) paintRacks(c, scene, view, tick, how);
    else {
      if (tick) this.#links(scene, view, tick, how, many);
      this.#nodes(scene, view, how);
    }
  }

  /** Colour the links of a large fabric pixel by pixel, over the picture of idle links.
   * @param {Scene} scene @param {View} view @param {Tick} tick @param {any} how */
  #pixels(scene, view, tick, how) {
    const { width, height } = this.canvas;
    const ratio = devicePixelRatio;
    if (!this.#raster || !this.#image) {
      const idle = /** @type {CanvasRenderingContext2D} */ (this.#idle.getContext("2d", { alpha: false }));
      this.#levels = how.colours.levels.map((/** @type {string} */ colour) => {
        idle.fillStyle = colour;
        return String(idle.fillStyle);
      });
      this.#ground = new Uint32Array(idle.getImageData(0, 0, width, height).data.buffer);
      this.#image = new ImageData(width, height);
      const pixels = { x: view.x, y: view.y, scale: view.scale * ratio };
      const thick = 1.45 * ratio * growth(view) * thickness(view);
      this.#raster = new Raster(scene, pixels, width, height, {
        thick, short: SHORT * ratio, curved: !straightIn(view),
      });
      this.#painted = null;
    }
    const bytes = how.by === "queue" ? tick.queue : tick.load;
    if (this.#painted !== bytes) {
      const image = new Uint32Array(this.#image.data.buffer);
      image.set(this.#ground);
      this.#raster.draw(image, tick, bytes, levelOf, this.#levels);
      this.#painted = bytes;
    }
    this.context.putImageData(this.#image, 0, 0);
  }

  /** Draw idle links and boxes into a picture that lasts until the view or the theme changes.
   * @param {Scene} scene @param {View} view @param {any} how @param {boolean} racks */
  #background(scene, view, how, racks) {
    const { canvas } = this;
    const key = [view.x, view.y, view.scale, canvas.width, canvas.height, how.theme, scene.names.length, racks].join();
    if (key === this.#key) return;
    this.#key = key;
    this.#raster = null;
    [this.#idle.width, this.#idle.height] = [canvas.width, canvas.height];
    const c = /** @type {CanvasRenderingContext2D} */ (this.#idle.getContext("2d", { alpha: false }));
    c.fillStyle = how.background;
    c.fillRect(0, 0, canvas.width, canvas.height);
    const scale = view.scale * devicePixelRatio;
    c.setTransform(scale, 0, 0, scale, -view.x * scale, -view.y * scale);
    c.lineWidth = 1 * pixel(view);
    c.strokeStyle = how.colours.box;
    c.fillStyle = how.colours.dim;
    for (const { kind, label, x, y, width, height } of scene.fabric.groups) {
      if (racks && kind === "rack") continue;
      c.strokeRect(x - 0.1, y - 0.1, width + 0.2, height + 0.2);
      const size = kind === "rack" ? 12 : 14;
      if (width * view.scale > 70) {
        c.font = `${size * pixel(view)}px system-ui, sans-serif`;
        c.fillText(label, x, y - 0.1 - 4 * pixel(view));
      }
    }
    if (racks) return;
    c.strokeStyle = how.colours.idle;
    c.lineWidth = (view.scale > 30 ? 1.1 : view.scale > 9 ? 0.6 : 0.35) * pixel(view);
    const path = new Path2D();
    for (let at = 0; at < scene.names.length; at++) {
      path.moveTo(scene.x[scene.a[at]], scene.y[scene.a[at]]);
      path.quadraticCurveTo(scene.cx[at], scene.cy[at], scene.x[scene.b[at]], scene.y[scene.b[at]]);
    }
    c.stroke(path);
  }

  /** Draw all links, or only those that are down, impaired or paused.
   * @param {Scene} scene @param {View} view @param {Tick} tick @param {any} how @param {boolean} wrong */
  #links(scene, view, tick, how, wrong) {
    const c = this.context;
    const bytes = how.by === "queue" ? tick.queue : tick.load;
    const paths = Array.from({ length: LEVELS }, () => new Path2D());
    const down = new Path2D();
    const crosses = new Path2D();
    const impaired = new Path2D();
    const paused = new Path2D();
    const cross = Math.min(0.16, 5 * pixel(view));
    const straight = straightIn(view);
    const short = SHORT / view.scale;
    const count = Math.min(scene.names.length, tick.state.length);
    for (let at = 0; at < count; at++) {
      const fresh = how.fresh.size > 0 && how.fresh.has(scene.names[at]);
      if (wrong && tick.state[at] === UP && !fresh) continue;
      const [x1, y1] = [scene.x[scene.a[at]], scene.y[scene.a[at]]];
      const [x2, y2] = [scene.x[scene.b[at]], scene.y[scene.b[at]]];
      const [cx, cy, mx, my] = [scene.cx[at], scene.cy[at], scene.mx[at], scene.my[at]];
      const state = tick.state[at];
      if (fresh || !(state & UP)) {
        // A circuit that is not set up is no failure.
        if (scene.circuit[at] && !fresh && !how.faulty.has(scene.names[at])) continue;
        down.moveTo(x1, y1);
        down.quadraticCurveTo(cx, cy, x2, y2);
        crosses.moveTo(mx - cross, my - cross);
        crosses.lineTo(mx + cross, my + cross);
        crosses.moveTo(mx + cross, my - cross);
        crosses.lineTo(mx - cross, my + cross);
        continue;
      }
      if (state & IMPAIRED) {
        impaired.moveTo(x1, y1);
        impaired.quadraticCurveTo(cx, cy, x2, y2);
      }
      if (state & PAUSED) {
        paused.moveTo(x1, y1);
        paused.quadraticCurveTo(cx, cy, x2, y2);
      }
      if (wrong) continue;
      let there = levelOf(bytes[2 * at]);
      const back = levelOf(bytes[2 * at + 1]);
      if (straight && Math.abs(x1 - x2) + Math.abs(y1 - y2) < short) {
        // Too short to tell its halves apart.
        there = Math.max(there, back);
        if (!there) continue;
        paths[there].moveTo(x1, y1);
        paths[there].lineTo(x2, y2);
        continue;
      }
      if (there) {
        const path = paths[there];
        path.moveTo(x1, y1);
        if (straight) path.lineTo(mx, my);
        else path.quadraticCurveTo((x1 + cx) / 2, (y1 + cy) / 2, mx, my);
      }
      if (back) {
        const path = paths[back];
        path.moveTo(x2, y2);
        if (straight) path.lineTo(mx, my);
        else path.quadraticCurveTo((x2 + cx) / 2, (y2 + cy) / 2, mx, my);
      }
    }
    const width = thickness(view);
    for (let level = 1; level < LEVELS; level++) {
      c.strokeStyle = how.colours.levels[level];
      c.lineWidth = (width * (1 + (0.9 * level) / LEVELS)) * pixel(view);
      c.stroke(paths[level]);
    }
    c.setLineDash([5 * pixel(view), 4 * pixel(view)]);
    c.lineWidth = 1.8 * pixel(view);
    c.strokeStyle = how.colours.impaired;
    c.stroke(impaired);
    c.strokeStyle = how.colours.paused;
    c.stroke(paused);
    c.strokeStyle = how.colours.down;
    c.stroke(down);
    c.setLineDash([]);
    c.lineWidth = 2.6 * pixel(view);
    c.stroke(crosses);
    this.#stuck(scene, view, how);
  }

  /** Draw the links of a deadlock, whose frames wait for each other.
   * @param {Scene} scene @param {View} view @param {any} how */
  #stuck(scene, view, how) {
    const c = this.context;
    const path = new Path2D();
    for (const name of how.stuck) {
      const at = scene.linkAt.get(name);
      if (at === undefined) continue;
      path.moveTo(scene.x[scene.a[at]], scene.y[scene.a[at]]);
      path.quadraticCurveTo(scene.cx[at], scene.cy[at], scene.x[scene.b[at]], scene.y[scene.b[at]]);
    }
    c.lineWidth = 3.5 * pixel(view);
    c.strokeStyle = how.colours.down;
    c.stroke(path);
  }

  /** Draw nodes from a picture that lasts until the view, the theme or the jobs change.
   * @param {Scene} scene @param {View} view @param {any} how */
  #nodes(scene, view, how) {
    const { canvas, context } = this;
    if (this.#nodeKey !== this.#key || (this.#jobs !== how.jobs && how.jobs.length)) {
      [this.#nodeKey, this.#jobs] = [this.#key, how.jobs];
      [this.#nodeLayer.width, this.#nodeLayer.height] = [canvas.width, canvas.height];
      const layer = /** @type {CanvasRenderingContext2D} */ (this.#nodeLayer.getContext("2d"));
      layer.setTransform(context.getTransform());
      this.#paintNodes(layer, scene, view, how);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.#nodeLayer, 0, 0);
  }

  /** @param {CanvasRenderingContext2D} c @param {Scene} scene @param {View} view @param {any} how */
  #paintNodes(c, scene, view, how) {
    const { kind, name } = scene.fabric.nodes;
    const job = jobOf(scene, how.jobs);
    const radius = view.scale > 30 ? 0.19 : Math.max(0.12, 1.6 * pixel(view));
    /** @type {Map<string, Path2D>} */ const fills = new Map();
    for (let at = 0; at < scene.x.length; at++) {
      const member = job[at] >= 0 && how.jobs.length > 1;
      const colour = member ? how.colours.jobs[job[at] % how.colours.jobs.length] : how.colours.node;
      let path = fills.get(colour);
      if (!path) fills.set(colour, (path = new Path2D()));
      const [x, y] = [scene.x[at], scene.y[at]];
      if (kind[at] === "npu" || kind[at] === "gpu") {
        path.moveTo(x + radius, y);
        path.arc(x, y, radius, 0, 2 * Math.PI);
      } else if (kind[at] === "ocs") {
        path.moveTo(x, y - 1.4 * radius);
        path.lineTo(x + 1.4 * radius, y);
        path.lineTo(x, y + 1.4 * radius);
        path.lineTo(x - 1.4 * radius, y);
        path.closePath();
      } else path.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    }
    c.lineWidth = (view.scale > 30 ? 1.2 : 0.7) * pixel(view);
    c.strokeStyle = how.colours.edge;
    for (const [colour, path] of fills) {
      c.fillStyle = colour;
      c.fill(path);
      c.stroke(path);
    }
    if (view.scale < LABELS) return;
    c.fillStyle = how.colours.text;
    c.textAlign = "center";
    c.textBaseline = "middle";
    const size = Math.min(11, 0.17 * view.scale);
    for (let at = 0; at < scene.x.length; at++) {
      const label = labelOf(name[at]);
      const room = label.length > 3 ? (size * 3) / label.length : size;
      if (room < 4.5) continue;
      c.font = `500 ${room * pixel(view)}px system-ui, sans-serif`;
      c.fillText(label, scene.x[at], scene.y[at] + 0.01);
    }
    c.textAlign = "start";
    c.textBaseline = "alphabetic";
  }

  /** Halos below what is chosen and what is under the pointer.
   * @param {Scene} scene @param {View} view @param {any} how */
  #marks(scene, view, how) {
    const c = this.context;
    c.strokeStyle = how.colours.accent;
    for (const [chosen, alpha] of [[how.hover, 0.28], [how.selection, 0.5]]) {
      if (!chosen) continue;
      c.globalAlpha = alpha;
      c.beginPath();
      if (chosen.kind === "node") {
        c.lineWidth = 7 * pixel(view);
        c.arc(scene.x[chosen.at], scene.y[chosen.at], Math.max(0.24, 5 * pixel(view)), 0, 2 * Math.PI);
      } else if (chosen.at < scene.names.length) {
        c.lineWidth = 9 * pixel(view);
        c.lineCap = "round";
        const [a, b] = [scene.a[chosen.at], scene.b[chosen.at]];
        c.moveTo(scene.x[a], scene.y[a]);
        c.quadraticCurveTo(scene.cx[chosen.at], scene.cy[chosen.at], scene.x[b], scene.y[b]);
      }
      c.stroke();
      c.lineCap = "butt";
    }
    c.globalAlpha = 1;
  }
}

/** Width of an idle link's line in pixels, before it grows. @param {View} view */
const thickness = ({ scale }) => (scale > 30 ? 1 : scale > 9 ? 0.7 : 0.45);

/** True if links are drawn as straight lines. @param {View} view */
const straightIn = ({ scale }) => scale < 14;

/** Position of each node's job, -1 for none. @param {Scene} scene @param {Job[]} jobs */
function jobOf(scene, jobs) {
  const job = new Int32Array(scene.x.length).fill(-1);
  jobs.forEach(({ members }, number) => {
    for (const node of members) job[node] = number;
  });
  return job;
}

/** Label that fits a node: the numbers of its name. @param {string} name */
export function labelOf(name) {
  const numbers = name.match(/\d+/g) ?? [name];
  return name.startsWith("npu") || name.startsWith("gpu") ? numbers.join(".") : name[0].toUpperCase() + numbers.join(".");
}
