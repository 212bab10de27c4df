// SPDX-License-Identifier: Apache-2.0
/**
 * Geometry of a fabric: where links run, which part is under the pointer. The unit is the distance of two nodes.
 *
 * @import { FabricPicture, Selection } from "../types"
 */

const NODE = 0.19;

/** Positions of nodes and curves of links, in the order in which a track names its links. */
export class Scene {
  /** @param {FabricPicture} fabric @param {string[]} names names of links */
  constructor(fabric, names) {
    this.fabric = fabric;
    this.x = fabric.nodes.x;
    this.y = fabric.nodes.y;
    /** Index of a node by its name. */
    this.nodeAt = new Map(fabric.nodes.name.map((name, at) => [name, at]));
    this.names = names;
    this.linkAt = new Map(names.map((name, at) => [name, at]));
    const count = names.length;
    /** Ends, as positions in the list of nodes. */
    this.a = new Int32Array(count);
    this.b = new Int32Array(count);
    this.gbps = new Float64Array(count);
    /** 1 for a circuit of an optical switch, which is set up or not. */
    this.circuit = new Uint8Array(count);
    this.ports = names.map(() => /** @type {[number, number] | null} */ (null));
    /** Control points of the quadratic curves, and their middles. */
    this.cx = new Float64Array(count);
    this.cy = new Float64Array(count);
    this.mx = new Float64Array(count);
    this.my = new Float64Array(count);
    const place = new Map(fabric.links.name.map((name, at) => [name, at]));
    for (let at = 0; at < count; at++) this.#link(at, place.get(names[at]));
    /** Links of each node. @type {number[][]} */
    this.linksOf = fabric.nodes.name.map(() => []);
    for (let at = 0; at < count; at++) {
      this.linksOf[this.a[at]]?.push(at);
      this.linksOf[this.b[at]]?.push(at);
    }
    /** Rack of each node, or -1. */
    this.rackOf = new Int32Array(this.x.length).fill(-1);
    /** Bundle of each link: inside a rack -1 minus the rack's number, between places the number of the bundle. */
    this.bundleOf = new Int32Array(count);
    /** @type {{x1: number, y1: number, x2: number, y2: number, links: number}[]} */
    this.bundles = [];
    this.box = { x: 0, y: 0, width: 1, height: 1 };
    this.racks = fabric.groups.filter((group) => group.kind === "rack");
    this.#groups();
    this.#box();
  }

  /** @param {number} at @param {number | undefined} known position in the fabric's links; none: a circuit to come */
  #link(at, known) {
    const { links, fibres } = this.fabric;
    let optical = known === undefined ? null : links.optical[known];
    let dimension = known === undefined ? 0 : links.dimension[known];
    if (known !== undefined) {
      this.a[at] = links.a[known];
      this.b[at] = links.b[known];
      this.gbps[at] = links.gbps[known];
      this.ports[at] = [links.port_a[known], links.port_b[known]];
    } else {
      const [name, ports] = this.names[at].split(/:(?=\d+-\d+$)/);
      const [low, high] = (ports ?? "0-0").split("-").map(Number);
      const switched = fibres[name];
      if (!switched) return;
      this.a[at] = switched.ends[low];
      this.b[at] = switched.ends[high];
      this.gbps[at] = switched.gbps;
      optical = this.nodeAt.get(name) ?? null;
    }
    const [x1, y1, x2, y2] = [this.x[this.a[at]], this.y[this.a[at]], this.x[this.b[at]], this.y[this.b[at]]];
    let [cx, cy] = [(x1 + x2) / 2, (y1 + y2) / 2];
    const [dx, dy] = [Math.abs(x2 - x1), Math.abs(y2 - y1)];
    // Longer links bulge further, so that none runs through the nodes between its ends.
    const bulge = 2 * (0.065 + 0.074 * (Math.max(dx, dy) - 1));
    this.circuit[at] = optical === null ? 0 : 1;
    if (known !== undefined && links.cx?.length && links.cy) [cx, cy] = [links.cx[known], links.cy[known]];
    else if (optical !== null) {
      // The curve of a circuit goes through its optical switch.
      cx = 2 * this.x[optical] - (x1 + x2) / 2;
      cy = 2 * this.y[optical] - (y1 + y2) / 2;
    } else if (dimension === null && dy > 0 && (dx > NODE || dy < 2)) {
      // straight, between tiers
    } else if (dy === 0) cy -= bulge;
    else cx += bulge;
    this.cx[at] = cx;
    this.cy[at] = cy;
    this.mx[at] = (x1 + 2 * cx + x2) / 4;
    this.my[at] = (y1 + 2 * cy + y2) / 4;
  }

  /** Bundles of links between racks, for a fabric too large to draw link by link. */
  #groups() {
    this.racks.forEach((rack, number) => {
      for (const node of rack.nodes) this.rackOf[node] = number;
    });
    if (!this.racks.length) return;
    const known = new Map();
    // Switches above all racks, eight by eight from left to right: lines to each would cover the picture.
    const above = [...this.x.keys()].filter((node) => this.rackOf[node] < 0).sort((p, q) => this.x[p] - this.x[q]);
    const clusterOf = new Map(above.map((node, order) => [node, Math.floor(order / 8)]));
    const clusters = [...Array(Math.ceil(above.length / 8)).keys()].map((number) => {
      const nodes = above.slice(8 * number, 8 * number + 8);
      const mean = (/** @type {number[]} */ of) => nodes.reduce((sum, node) => sum + of[node], 0) / nodes.length;
      return { key: `n${number}`, x: mean(this.x), y: mean(this.y) };
    });
    const place = (/** @type {number} */ node) => {
      const rack = this.rackOf[node];
      if (rack < 0) return { ...clusters[clusterOf.get(node) ?? 0] };
      const { x, y, width, height } = this.racks[rack];
      return { key: `r${rack}`, x: x + width / 2, y: y + height / 2 };
    };
    for (let at = 0; at < this.names.length; at++) {
      const from = place(this.a[at]);
      const to = place(this.b[at]);
      if (from.key === to.key) {
        this.bundleOf[at] = -1 - this.rackOf[this.a[at]];
        continue;
      }
      const key = from.key < to.key ? from.key + to.key : to.key + from.key;
      let number = known.get(key);
      if (number === undefined) {
        number = this.bundles.length;
        known.set(key, number);
        this.bundles.push({ x1: from.x, y1: from.y, x2: to.x, y2: to.y, links: 0 });
      }
      this.bundles[number].links++;
      this.bundleOf[at] = number;
    }
  }

  #box() {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let at = 0; at < this.x.length; at++) {
      left = Math.min(left, this.x[at]);
      right = Math.max(right, this.x[at]);
      top = Math.min(top, this.y[at]);
      bottom = Math.max(bottom, this.y[at]);
    }
    for (let at = 0; at < this.names.length; at++) {
      if (this.names.length > 20000) break;
      right = Math.max(right, this.mx[at]);
      top = Math.min(top, this.my[at]);
    }
    this.box = { x: left - 0.6, y: top - 0.6, width: right - left + 1.2, height: bottom - top + 1.2 };
  }

  /** The node or link at a point, within `reach` units. @param {number} x @param {number} y @param {number} reach
   * @returns {Selection} */
  hit(x, y, reach) {
    let best = Math.max(NODE, reach);
    /** @type {Selection} */ let chosen = null;
    for (let at = 0; at < this.x.length; at++) {
      const distance = Math.hypot(this.x[at] - x, this.y[at] - y);
      if (distance < best) [best, chosen] = [distance, { kind: "node", at }];
    }
    if (chosen) return chosen;
    best = reach;
    for (let at = 0; at < this.names.length; at++) {
      const distance = this.#distance(at, x, y, best);
      if (distance < best) [best, chosen] = [distance, { kind: "link", at }];
    }
    return chosen;
  }

  /** Distance of a point from a link, or `most` if it is farther than that.
   * @param {number} at @param {number} x @param {number} y @param {number} most */
  #distance(at, x, y, most) {
    const [x1, y1, x2, y2] = [this.x[this.a[at]], this.y[this.a[at]], this.x[this.b[at]], this.y[this.b[at]]];
    const [cx, cy] = [this.cx[at], this.cy[at]];
    if (x < Math.min(x1, x2, cx) - most || x > Math.max(x1, x2, cx) + most) return most;
    if (y < Math.min(y1, y2, cy) - most || y > Math.max(y1, y2, cy) + most) return most;
    let best = most;
    let [px, py] = [x1, y1];
    for (let i = 1; i <= 16; i++) {
      const t = i / 16;
      const s = 1 - t;
      const qx = s * s * x1 + 2 * s * t * cx + t * t * x2;
      const qy = s * s * y1 + 2 * s * t * cy + t * t * y2;
      best = Math.min(best, toSegment(x, y, px, py, qx, qy));
      [px, py] = [qx, qy];
    }
    return best;
  }

  /** The node beside a node in a direction; the node itself if there is none.
   * @param {number} node @param {number} dx @param {number} dy */
  beside(node, dx, dy) {
    let best = Infinity;
    let chosen = node;
    for (let at = 0; at < this.x.length; at++) {
      const along = (this.x[at] - this.x[node]) * dx + (this.y[at] - this.y[node]) * dy;
      const across = Math.abs((this.x[at] - this.x[node]) * dy) + Math.abs((this.y[at] - this.y[node]) * dx);
      if (at === node || along <= 0.05) continue;
      const cost = along + 3 * across;
      if (cost < best) [best, chosen] = [cost, at];
    }
    return chosen;
  }
}

/** @param {number} x @param {number} y @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function toSegment(x, y, x1, y1, x2, y2) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const t = length ? Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / length)) : 0;
  return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
}
