// SPDX-License-Identifier: Apache-2.0
/**
 * Records of a run as the page keeps them: tracks of variants, the time that is shown, the selection.
 *
 * @import { FabricPicture, Header, RunEvent, Selection, SessionState, Tick, Track } from "./types"
 */

/** Kinds of records; harness/recording/records.py describes them. */
export const KIND = { HEADER: 1, FABRIC: 2, VARIANT: 3, LINKS: 4, TICK: 5, EVENT: 6, END: 7, CLOSE: 8, FRAMES: 9 };

const TICK_BYTES = 96 << 20; // of all variants together; above, the older half loses every second tick
const EVENTS = 50000;
const SMOOTHED = 4; // ticks whose mean load is shown: a tick may be as short as a frame
const text = new TextDecoder();

/** Position of the last item at or before a time; -1 if all are later. Items are in order of time.
 * @param {{t: number}[]} items @param {number} t */
export function lastBefore(items, t) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle].t <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Decode a tick: see harness/recording/records.py. @param {DataView} view @returns {Tick} */
export function decodeTick(view) {
  const links = view.getUint32(8, true);
  const count = view.getUint32(12, true);
  const totals = new Float64Array(count);
  for (let i = 0; i < count; i++) totals[i] = view.getFloat64(16 + 8 * i, true);
  const at = view.byteOffset + 16 + 8 * count;
  const bytes = (/** @type {number} */ from, /** @type {number} */ length) =>
    new Uint8Array(view.buffer, at + from, length);
  return {
    t: Number(view.getBigUint64(0, true)),
    totals,
    load: bytes(0, 2 * links),
    queue: bytes(2 * links, 2 * links),
    state: bytes(4 * links, links),
  };
}

export class Store {
  /** @type {Header | null} */ header = null;
  /** @type {FabricPicture | null} */ fabric = null;
  /** @type {Map<string, Track>} */ tracks = new Map();
  /** Name of the variant that is shown, and of the one beside it. */
  variant = "";
  beside = "";
  /** Pane whose variant panels describe: that in which something was chosen last. @type {"variant" | "beside"} */
  pane = "variant";
  /** Time that is shown, in picoseconds. */
  time = 0;
  /** True while the time follows the newest tick. */
  follow = true;
  #playing = false;
  /** Called when the page begins to play. */ onPlaying = () => {};
  /** Seconds in which the page plays all that it shows. */
  seconds = 4;
  /** Picoseconds that variants of this session have taken, by name: also those of earlier runs. @type {Map<string, number>} */
  #took = new Map();
  /** @type {SessionState} */
  session = {
    mode: "replay", paused: true, pace: null, variant: "", ended: true, words: "", read_only: true, saves: false, real: false,
    by_hand: {},
  };
  /** Refused: the address lacks the token. @type {"connecting" | "open" | "closed" | "refused" | "inside"} */
  connection = "connecting";
  /** Reason for which the connection ended. */
  farewell = "";
  /** @type {Selection} */ selection = null;
  /** @type {{text: string, bad: boolean} | null} */ notice = null;
  /** @type {Set<(what: string) => void>} */ #listeners = new Set();
  #writing = "";
  #dirty = new Set();
  #frame = 0;

  /** Call back once a display frame after changes; returns what ends it.
   * `what` is one of fabric, tracks, time, session, selection, notice. @param {(what: string) => void} listener */
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param {string} what */
  changed(what) {
    this.#dirty.add(what);
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#tell());
  }

  #tell() {
    this.#frame = 0;
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    for (const what of dirty) for (const listener of this.#listeners) listener(what);
  }

  /** True while the page plays by itself. */
  get playing() {
    return this.#playing;
  }

  set playing(playing) {
    const begins = playing && !this.#playing;
    this.#playing = playing;
    if (begins) this.onPlaying();
  }

  /** The track that is shown, on the left of two. @returns {Track | undefined} */
  get track() {
    return this.tracks.get(this.variant);
  }

  /** All tracks that are shown: one, or two beside each other. @returns {Track[]} */
  get shown() {
    const other = this.beside === this.variant ? undefined : this.tracks.get(this.beside);
    return [this.track, other].filter((track) => track !== undefined);
  }

  /** The track that panels describe. @returns {Track | undefined} */
  get chosen() {
    return (this.pane === "beside" && this.tracks.get(this.beside)) || this.track;
  }

  /** Events of all tracks that are shown, in order of time. @returns {{event: RunEvent, track: Track}[]} */
  get events() {
    const events = this.shown.flatMap((track) => track.events.map((event) => ({ event, track })));
    return this.shown.length < 2 ? events : events.sort((a, b) => a.event.t - b.event.t);
  }

  /** Latest time that a track has. @param {Track | undefined} track */
  end(track) {
    if (!track || !track.ticks.length) return 0;
    return track.end ? Math.max(track.end.t, track.ticks[track.ticks.length - 1].t) : track.ticks[track.ticks.length - 1].t;
  }

  /** Time that the scrubber spans: until all variants beside each other have ended and their last events have come. */
  get span() {
    const busy = this.shown.map((track) => {
      if (track.end?.completion_ps) return Math.max(track.end.completion_ps, track.events.at(-1)?.t ?? 0);
      return Math.max(this.end(track), track.bound_ps);
    });
    return Math.max(...busy, 1);
  }

  /** Estimate of the time that a variant takes: that of its last run, or its lower bound, so many times as the slowest of
   * the other variants took theirs. @param {Track} track */
  expected(track) {
    const known = this.#took.get(track.name);
    if (known !== undefined) return known;
    const times = [...this.tracks.values()].map(({ name, bound_ps }) => (this.#took.get(name) ?? 0) / bound_ps);
    return track.bound_ps * Math.max(1, ...times);
  }

  /** Take a record of the wire: a byte for its kind, then its payload. @param {ArrayBuffer} data */
  take(data) {
    const kind = new Uint8Array(data, 0, 1)[0];
    if (kind === KIND.TICK) return this.#tick(decodeTick(new DataView(data, 1)));
    const values = JSON.parse(text.decode(new Uint8Array(data, 1)));
    const track = this.tracks.get(this.#writing);
    if (kind === KIND.HEADER) {
      this.header = values;
      this.tracks.clear();
      this.#writing = "";
      this.changed("tracks");
    } else if (kind === KIND.FABRIC) {
      this.fabric = values;
      this.changed("fabric");
    } else if (kind === KIND.VARIANT) {
      this.#writing = values.name;
      this.tracks.set(values.name, { ...values, ticks: [], events: [], end: null, bytes: 0, frames: new Map() });
      if (this.follow || !this.tracks.has(this.variant)) {
        this.variant = values.name;
        this.time = 0;
      }
      this.changed("tracks");
    } else if (kind === KIND.LINKS && track) {
      track.links.push(...values.links);
      this.changed("fabric");
    } else if (kind === KIND.EVENT && track) {
      this.#event(track, values);
    } else if (kind === KIND.FRAMES && track) {
      const kept = track.frames.get(values.link) ?? [];
      for (const [number, t, from, to, length, words] of values.frames) kept.push({ number, t, from, to, length, words });
      track.frames.set(values.link, kept);
      this.changed("tracks");
    } else if (kind === KIND.END && track) {
      track.end = values;
      if (values.completion_ps) this.#took.set(track.name, values.completion_ps);
      // Ticks may come after the end, while the run waits for timers.
      if (this.follow && this.variant === track.name) this.time = Math.min(this.time, this.span);
      this.changed("tracks");
    }
  }

  /** @param {Tick} tick */
  #tick(tick) {
    const track = this.tracks.get(this.#writing);
    if (!track) return;
    track.ticks.push(tick);
    track.bytes += tick.load.length * 2.5;
    let bytes = 0;
    for (const other of this.tracks.values()) bytes += other.bytes;
    if (bytes > TICK_BYTES) for (const other of this.tracks.values()) thin(other);
    if (this.follow && this.variant === track.name) this.time = tick.t;
    this.changed("time");
  }

  /** @param {Track} track @param {RunEvent} event */
  #event(track, event) {
    event.text = event.text.replace(/(\d) us\b/g, "$1 µs"); // as older recordings have it
    // A record of a job's end comes with the tick after it.
    track.events.splice(lastBefore(track.events, event.t) + 1, 0, event);
    if (track.events.length > EVENTS) track.events.splice(0, EVENTS / 4);
    this.changed("tracks");
  }

  /** Show another time. @param {number} time @param {boolean} [follow] */
  seek(time, follow = false) {
    this.time = Math.max(0, Math.min(time, this.span));
    this.follow = follow;
    this.changed("time");
  }

  /** Show another variant at the same time. @param {string} name */
  show(name) {
    this.variant = name;
    if (this.beside === name) this.beside = "";
    this.time = Math.min(this.time, this.span);
    this.changed("tracks");
  }

  /** @param {Selection} selection @param {"variant" | "beside"} [pane] pane in which it is chosen; else the last one */
  select(selection, pane = this.pane) {
    this.selection = selection;
    this.pane = pane;
    this.changed("selection");
  }

  /** Show a notice for some seconds, an error for longer. @param {string} words @param {boolean} [bad] */
  say(words, bad = false) {
    const notice = words ? { text: words, bad } : null;
    this.notice = notice;
    this.changed("notice");
    const gone = () => {
      if (this.notice === notice) this.say("");
    };
    if (notice) setTimeout(gone, bad ? 12000 : 6000);
  }

  /** Time up to which events are shown: all that a live run has told while the page follows it, as a fault by hand in a
   * pause is later than the last tick. */
  get until() {
    return this.follow && this.session.mode === "live" ? Infinity : this.time;
  }

  /** Events up to the time that is shown. @param {Track} track @returns {RunEvent[]} */
  past(track) {
    return track.events.slice(0, lastBefore(track.events, this.until) + 1);
  }

  /** Links that faults have taken up (true) or down (false) since the tick that is shown: a fault by hand in a pause is
   * to be seen at once, and one of a recording at its time. @param {Track | undefined} track @returns {Map<string, boolean>} */
  turned(track) {
    const turned = new Map();
    if (!track) return turned;
    const since = track.ticks[lastBefore(track.ticks, this.time)]?.t ?? -1;
    for (let at = lastBefore(track.events, since) + 1; at < track.events.length && track.events[at].t <= this.until; at++) {
      const { kind, event, links } = track.events[at];
      if (kind === "fault" && (event === "up" || event === "down")) for (const link of links ?? []) turned.set(link, event === "up");
    }
    return turned;
  }

  /** States of links of the variant that panels describe, with faults since the tick.
   * @returns {(name: string, at: number) => number} */
  get states() {
    const tick = this.chosen?.ticks[lastBefore(this.chosen.ticks, this.time)];
    const turned = this.turned(this.chosen);
    return (name, at) => {
      const state = tick?.state[at] ?? 1;
      const up = turned.get(name);
      return up === undefined ? state : up ? state | 1 : state & ~1;
    };
  }

  /** Links, mean loads of the last ticks, queues and states at the time that is shown.
   * @param {Track | undefined} track @returns {Tick | null} */
  at(track) {
    if (!track) return null;
    const last = lastBefore(track.ticks, this.time);
    if (last < 0) return null;
    const tick = track.ticks[last];
    // After the end, beside a variant that lasts longer, the means of the last ticks would stay for ever.
    if (track.end && last === track.ticks.length - 1 && this.time > tick.t) return tick;
    const before = [];
    for (let i = last - 1; i > last - SMOOTHED && i >= 0; i--)
      if (track.ticks[i].load.length === tick.load.length) before.push(track.ticks[i].load);
    if (!before.length) return tick;
    const load = new Uint8Array(tick.load.length);
    for (let i = 0; i < load.length; i++) {
      let sum = tick.load[i];
      for (const other of before) sum += other[i];
      load[i] = Math.ceil(sum / (before.length + 1));
    }
    return { ...tick, load };
  }
}

/** Drop every second tick of a track's older half. @param {Track} track */
function thin(track) {
  const half = track.ticks.length >> 1;
  track.ticks = track.ticks.filter((_, at) => at >= half || at % 2 === 1);
  track.bytes = track.ticks.reduce((sum, tick) => sum + tick.load.length * 2.5, 0);
}
