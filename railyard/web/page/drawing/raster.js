// SPDX-License-Identifier: Apache-2.0
/**
 * Links of a large fabric as lists of pixels: lines are found once a view, and every frame only colours them.
 *
 * @import { Tick } from "../types"
 * @import { Scene } from "./scene.js"
 * @import { View } from "./levels.js"
 */

const COVERS = 16; // steps of the share of a pixel that a line covers
const CURVE = 12; // pixels of a curve that are drawn as one line
const BOTH = 2;
const UP = 1;

/** Lines of a scene in a view. A stroke is the pixels of half a link, or of a link too short to tell its halves apart. */
export class Raster {
  /** Pixels of all strokes, one after the other, and how much of each is covered. */
  #pixels = new Int32Array(1 << 18);
  #covers = new Uint8Array(1 << 18);
  #length = 0;
  /** First pixel of each stroke, its link, and the direction whose load it has. */
  #starts;
  #link;
  #way;
  #strokes = 0;
  #levels;
  /** @type {number} */ #width;
  /** @type {number} */ #height;

  /** @param {Scene} scene @param {View} view in pixels of the canvas @param {number} width @param {number} height
   * @param {{thick: number, short: number, curved: boolean}} how width of lines, length below which a link is one
   *   stroke, both in pixels, and whether links are curves */
  constructor(scene, view, width, height, how) {
    [this.#width, this.#height] = [width, height];
    const most = 2 * scene.names.length;
    this.#starts = new Int32Array(most + 1);
    this.#link = new Int32Array(most);
    this.#way = new Uint8Array(most);
    const { x, y, scale } = view;
    for (let at = 0; at < scene.names.length; at++) {
      const x1 = (scene.x[scene.a[at]] - x) * scale;
      const y1 = (scene.y[scene.a[at]] - y) * scale;
      const x2 = (scene.x[scene.b[at]] - x) * scale;
      const y2 = (scene.y[scene.b[at]] - y) * scale;
      const cx = (scene.cx[at] - x) * scale;
      const cy = (scene.cy[at] - y) * scale;
      if (Math.max(x1, x2, cx) < -2 || Math.min(x1, x2, cx) > width + 2) continue;
      if (Math.max(y1, y2, cy) < -2 || Math.min(y1, y2, cy) > height + 2) continue;
      const mx = (scene.mx[at] - x) * scale;
      const my = (scene.my[at] - y) * scale;
      if (!how.curved && Math.abs(x1 - x2) + Math.abs(y1 - y2) < how.short) {
        this.#line(x1, y1, x2, y2, how.thick);
        this.#end(at, BOTH);
        continue;
      }
      for (const way of [0, 1]) {
        const [px, py] = way ? [x2, y2] : [x1, y1];
        if (how.curved) this.#curve(px, py, (px + cx) / 2, (py + cy) / 2, mx, my, how.thick);
        else this.#line(px, py, mx, my, how.thick);
        this.#end(at, way);
      }
    }
    this.#levels = new Uint8Array(this.#strokes);
  }

  /** Colour the pixels of all links that are up, those of higher levels above.
   * @param {Uint32Array} image @param {Tick} tick @param {Uint8Array} bytes a byte for each direction of each link
   * @param {(byte: number) => number} levelOf @param {string[]} colours by level, as #rrggbb; level 0 is not drawn */
  draw(image, tick, bytes, levelOf, colours) {
    const counts = new Int32Array(colours.length + 1);
    const table = Uint8Array.from({ length: 256 }, (_, byte) => levelOf(byte));
    for (let stroke = 0; stroke < this.#strokes; stroke++) {
      const at = this.#link[stroke];
      const way = this.#way[stroke];
      let byte = 0;
      if (at < tick.state.length && tick.state[at] & UP) {
        byte = bytes[2 * at + (way & 1)];
        if (way === BOTH && bytes[2 * at + 1] > byte) byte = bytes[2 * at + 1];
      }
      counts[(this.#levels[stroke] = table[byte]) + 1]++;
    }
    for (let level = 1; level < counts.length; level++) counts[level] += counts[level - 1];
    const order = new Int32Array(this.#strokes);
    const next = counts.slice();
    for (let stroke = 0; stroke < this.#strokes; stroke++) order[next[this.#levels[stroke]]++] = stroke;
    for (let level = 1; level < colours.length; level++) {
      const [kept, redBlue, green] = blends(colours[level], (1 + (0.9 * level) / colours.length) / 1.45);
      for (let i = counts[level]; i < counts[level + 1]; i++) this.#colour(image, order[i], kept, redBlue, green);
    }
  }

  /** @param {Uint32Array} image @param {number} stroke @param {Int32Array} kept @param {Int32Array} redBlue
   * @param {Int32Array} green */
  #colour(image, stroke, kept, redBlue, green) {
    const pixels = this.#pixels;
    const covers = this.#covers;
    const end = this.#starts[stroke + 1];
    for (let i = this.#starts[stroke]; i < end; i++) {
      const cover = covers[i];
      const pixel = image[pixels[i]];
      const share = kept[cover];
      // Red and blue in one product: each has room for eight bits more.
      image[pixels[i]] =
        0xff000000 |
        (((Math.imul(pixel & 0xff00ff, share) + redBlue[cover]) >>> 8) & 0xff00ff) |
        (((Math.imul(pixel & 0xff00, share) + green[cover]) >>> 8) & 0xff00);
    }
  }

  /** @param {number} link @param {number} way */
  #end(link, way) {
    if (this.#starts[this.#strokes] === this.#length) return;
    this.#link[this.#strokes] = link;
    this.#way[this.#strokes] = way;
    this.#starts[++this.#strokes] = this.#length;
  }

  /** @param {number} x1 @param {number} y1 @param {number} cx @param {number} cy @param {number} x2 @param {number} y2
   * @param {number} thick */
  #curve(x1, y1, cx, cy, x2, y2, thick) {
    const parts = Math.max(1, Math.min(16, Math.ceil((Math.abs(x2 - x1) + Math.abs(y2 - y1)) / CURVE)));
    let [px, py] = [x1, y1];
    for (let part = 1; part <= parts; part++) {
      const t = part / parts;
      const s = 1 - t;
      const qx = s * s * x1 + 2 * s * t * cx + t * t * x2;
      const qy = s * s * y1 + 2 * s * t * cy + t * t * y2;
      this.#line(px, py, qx, qy, thick);
      [px, py] = [qx, qy];
    }
  }

  /** Add the pixels of a line: along its longer axis, those that its thickness covers across.
   * @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {number} thick */
  #line(x1, y1, x2, y2, thick) {
    const steep = Math.abs(y2 - y1) > Math.abs(x2 - x1);
    let [u1, v1, u2, v2] = steep ? [y1, x1, y2, x2] : [x1, y1, x2, y2];
    if (u1 > u2) [u1, v1, u2, v2] = [u2, v2, u1, v1];
    const slope = u2 - u1 < 1e-6 ? 0 : (v2 - v1) / (u2 - u1);
    const half = (thick * Math.sqrt(1 + slope * slope)) / 2;
    const [along, across] = steep ? [this.#height, this.#width] : [this.#width, this.#height];
    const first = Math.max(0, Math.round(u1));
    const last = Math.min(along, Math.max(Math.round(u2), Math.round(u1) + 1));
    for (let u = first; u < last; u++) {
      const v = v1 + (u + 0.5 - u1) * slope;
      const top = Math.floor(v + half);
      for (let j = Math.floor(v - half); j <= top; j++) {
        if (j < 0 || j >= across) continue;
        const cover = Math.min(v + half, j + 1) - Math.max(v - half, j);
        const step = Math.min(COVERS, Math.round(cover * COVERS)) - 1;
        if (step < 0) continue;
        if (this.#length === this.#pixels.length) this.#grow();
        this.#pixels[this.#length] = steep ? u * this.#width + j : j * this.#width + u;
        this.#covers[this.#length++] = step;
      }
    }
  }

  #grow() {
    const [pixels, covers] = [this.#pixels, this.#covers];
    this.#pixels = new Int32Array(2 * pixels.length);
    this.#covers = new Uint8Array(2 * covers.length);
    this.#pixels.set(pixels);
    this.#covers.set(covers);
  }
}

/** Blending for each cover in 256ths: the share of the pixel that stays, and the colour's part of red and blue, and of green.
 * @param {string} colour @param {number} strength @returns {[Int32Array, Int32Array, Int32Array]} */
function blends(colour, strength) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const shares = [...Array(COVERS).keys()].map((cover) =>
    Math.min(256, Math.round((256 * strength * (cover + 1)) / COVERS)),
  );
  return [
    Int32Array.from(shares, (share) => 256 - share),
    Int32Array.from(shares, (share) => Math.imul((blue << 16) | red, share)),
    Int32Array.from(shares, (share) => Math.imul(green << 8, share)),
  ];
}
