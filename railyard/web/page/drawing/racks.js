// SPDX-License-Identifier: Apache-2.0
/**
 * Painting of a fabric too large to draw link by link: racks, and bundles of links between them.
 *
 * @import { Tick } from "../types"
 * @import { View } from "./levels.js"
 * @import { Scene } from "./scene.js"
 */
import { LEVELS, UP, levelOf } from "./levels.js";

/** Draw racks as cells with the mean load inside, and bundles of links between them by their busiest link.
 * @param {CanvasRenderingContext2D} c @param {Scene} scene @param {View} view @param {Tick | null} tick @param {any} how */
export function paintRacks(c, scene, view, tick, how) {
  const bundles = new Uint8Array(scene.bundles.length);
  const inside = new Float64Array(scene.racks.length);
  const links = new Float64Array(scene.racks.length);
  const failed = new Uint8Array(scene.bundles.length + scene.racks.length);
  const bytes = tick ? (how.by === "queue" ? tick.queue : tick.load) : null;
  const count = tick ? Math.min(scene.names.length, tick.state.length) : 0;
  for (let at = 0; at < count && bytes && tick; at++) {
    const most = bytes[2 * at] > bytes[2 * at + 1] ? bytes[2 * at] : bytes[2 * at + 1];
    const bundle = scene.bundleOf[at];
    if (bundle >= 0) {
      if (most > bundles[bundle]) bundles[bundle] = most;
    } else {
      inside[-1 - bundle] += most;
      links[-1 - bundle]++;
    }
    if (!(tick.state[at] & UP)) failed[bundle >= 0 ? bundle : scene.bundles.length - 1 - bundle] = 1;
  }
  const paths = Array.from({ length: LEVELS + 1 }, () => new Path2D());
  scene.bundles.forEach(({ x1, y1, x2, y2 }, number) => {
    const path = paths[failed[number] ? LEVELS : levelOf(bundles[number])];
    path.moveTo(x1, y1);
    // Racks of a row or column bulge around those between them; hundreds of lines to HRS are straight.
    if (Math.abs(y2 - y1) < 0.1) path.quadraticCurveTo((x1 + x2) / 2, y1 - 0.12 * Math.abs(x2 - x1), x2, y2);
    else if (Math.abs(x2 - x1) < 0.1) path.quadraticCurveTo(x1 + 0.12 * Math.abs(y2 - y1), (y1 + y2) / 2, x2, y2);
    else path.lineTo(x2, y2);
  });
  for (let level = 0; level <= LEVELS; level++) {
    c.strokeStyle = level === LEVELS ? how.colours.down : level ? how.colours.levels[level] : how.colours.idle;
    c.lineWidth = (level ? 0.8 + level / 5 : 0.5) / view.scale;
    c.stroke(paths[level]);
  }
  c.lineWidth = 1.2 / view.scale;
  scene.racks.forEach(({ x, y, width, height }, number) => {
    const level = links[number] ? levelOf(Math.ceil(inside[number] / links[number])) : 0;
    c.fillStyle = level ? how.colours.levels[level] : how.colours.node;
    c.strokeStyle = failed[scene.bundles.length + number] ? how.colours.down : how.colours.edge;
    c.beginPath();
    c.roundRect(x + width * 0.12, y + height * 0.12, width * 0.76, height * 0.76, 0.6);
    c.fill();
    c.stroke();
  });
  const between = new Path2D();
  for (let at = 0; at < scene.x.length; at++)
    if (scene.rackOf[at] < 0) between.rect(scene.x[at] - 0.4, scene.y[at] - 0.4, 0.8, 0.8);
  c.fillStyle = how.colours.node;
  c.fill(between);
  c.strokeStyle = how.colours.edge;
  c.stroke(between);
}
