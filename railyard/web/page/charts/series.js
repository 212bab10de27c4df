// SPDX-License-Identifier: Apache-2.0
/**
 * Series of charts, from the ticks of a run. Times are microseconds of virtual time.
 *
 * @import { Tick, Track } from "../types"
 * @import { Chart, Line } from "./chart"
 */

/** Ticks of a chart; more are joined. */
const TICKS = 1200;

/** A rate or a growth between two ticks stands at the later one.
 * @param {Tick[]} ticks @param {(before: Tick, tick: Tick) => number} of */
const between = (ticks, of) => ticks.map((tick, at) => (at ? of(ticks[at - 1], tick) : 0));

/** Evenly chosen ticks, the last among them. @param {Tick[]} ticks */
function chosen(ticks) {
  const step = Math.ceil(ticks.length / TICKS) || 1;
  return step === 1 ? ticks : ticks.filter((_, at) => (ticks.length - 1 - at) % step === 0);
}

/** Charts of a track; `link` is the place of a link in its ticks, or null for all links.
 * @param {Track} track @param {{at: number, name: string} | null} link @returns {Chart[]} */
export function chartsOf(track, link) {
  const ticks = chosen(track.ticks);
  const x = ticks.map(({ t }) => t / 1e6);
  const place = (/** @type {string} */ name) => track.totals.indexOf(name);
  const total = (/** @type {string} */ name) => {
    const at = place(name);
    return ticks.map(({ totals }) => totals[at] ?? 0);
  };
  const growth = (/** @type {string} */ name) => {
    const at = place(name);
    return between(ticks, (before, tick) => (tick.totals[at] ?? 0) - (before.totals[at] ?? 0));
  };
  const rate = (/** @type {string} */ name, /** @type {number} */ factor) => {
    const at = place(name);
    return between(ticks, (before, tick) => (factor * ((tick.totals[at] ?? 0) - (before.totals[at] ?? 0))) / (tick.t - before.t || 1));
  };
  const jobs = track.jobs.length > 1 ? track.jobs.map(({ name }) => name) : [];
  const end = track.end ? total("delivered_bytes")[ticks.length - 1] : 0;
  /** @type {Chart[]} */
  const charts = [
    { id: "throughput", title: "data that arrives", unit: "Tbit/s", x, lines: [{ label: "all NPUs", values: rate("delivered_bytes", 8), smooth: true }] },
    end
      ? { id: "completion", title: "data that has arrived", unit: "%", x, lines: [{ label: "of all", values: total("delivered_bytes").map((bytes) => (100 * bytes) / end) }] }
      : { id: "completion", title: "data that has arrived", unit: "MB", x, lines: [{ label: "all NPUs", values: total("delivered_bytes").map((bytes) => bytes / 1e6) }] },
    {
      id: "latency", title: "smoothed round trip of NPUs", unit: "µs", x,
      lines: [["rtt_p50_ps", "median"], ["rtt_p90_ps", "90 %"], ["rtt_p99_ps", "99 %"], ["rtt_ps", "longest"]]
        .filter(([name]) => place(name) >= 0)
        .map(([name, label]) => ({ label, values: total(name).map((ps) => ps / 1e6) })),
    },
    { id: "retransmitted", title: "frames sent again", unit: "frames", x, lines: [{ label: "frames", values: growth("retransmitted") }] },
    {
      id: "control", title: "notices and table entries", unit: "count", x,
      lines: [{ label: "notices", values: growth("notices") }, { label: "entries rewritten", values: growth("entries_rewritten") }],
    },
    { id: "load", ...shareOf(ticks, link, "load", ({ load }) => load), unit: "%", x },
    { id: "queue", ...shareOf(ticks, link, "queue", ({ queue }) => queue), unit: "%", x },
  ];
  const pauses = ticks.map(({ state }) => state.reduce((sum, bits) => sum + ((bits >> 3) & 1) + ((bits >> 4) & 1), 0));
  if (pauses.some((count) => count > 0))
    charts.push({ id: "pauses", title: "ports paused by flow control", unit: "count", x, lines: [{ label: "of all links", values: pauses }] });
  if (jobs.length)
    charts.splice(1, 0, {
      id: "jobs", title: "data frames of each job", unit: "frames/µs", x,
      lines: jobs.map((name) => ({ label: name, values: rate(`job:${name}`, 1e6), smooth: true })),
    });
  return charts;
}

/** Values of a line as a chart draws them. @param {Line} line */
export function drawn({ values, smooth }) {
  if (!smooth) return values;
  return values.map((_, at) => {
    const near = values.slice(Math.max(0, at - 2), at + 3);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

/** Load or queue of a link both ways, or the mean and the largest of all links. @param {Tick[]} ticks
 * @param {{at: number, name: string} | null} link @param {string} word @param {(tick: Tick) => Uint8Array} of
 * @returns {{title: string, lines: Line[]}} */
function shareOf(ticks, link, word, of) {
  const share = (/** @type {number | undefined} */ byte) => (100 * (byte ?? 0)) / 255;
  if (link) {
    const way = (/** @type {number} */ direction) => ticks.map((tick) => share(of(tick)[2 * link.at + direction]));
    return { title: `${word} of ${link.name}`, lines: [{ label: "there", values: way(0) }, { label: "back", values: way(1) }] };
  }
  const mean = [];
  const largest = [];
  for (const tick of ticks) {
    const bytes = of(tick);
    let sum = 0;
    let most = 0;
    for (const byte of bytes) {
      sum += byte;
      if (byte > most) most = byte;
    }
    mean.push(share(bytes.length ? sum / bytes.length : 0));
    largest.push(share(most));
  }
  return { title: `${word} of all links`, lines: [{ label: "mean", values: mean }, { label: "largest", values: largest }] };
}
