/** Values that the modules of the page share. docs/reference/page-protocol.md describes those of the wire. */

export interface FabricPicture {
  name: string;
  dims: number[];
  nodes: { name: string[]; kind: string[]; tier: number[]; x: number[]; y: number[] };
  links: {
    name: string[];
    a: number[];
    b: number[];
    port_a: number[];
    port_b: number[];
    cx?: number[];
    cy?: number[];
    gbps: number[];
    dimension: (number | null)[];
    optical: (number | null)[];
  };
  fibres: Record<string, { ends: number[]; gbps: number }>;
  groups: { kind: string; label: string; x: number; y: number; width: number; height: number; nodes: number[] }[];
}

export interface Header {
  format: string;
  version: number;
  railyard: string;
  scenario: string;
  title: string;
  description: string;
  seed: number;
  variants: { name: string; label: string }[];
}

export interface Job {
  name: string;
  begin_ps: number;
  members: number[];
}

/** Something that happened at `t` picoseconds. */
export interface RunEvent {
  t: number;
  kind: string;
  text: string;
  links?: string[];
  node?: string;
  job?: string;
  event?: string;
  target?: string;
  by?: string;
  count?: number;
  /** Time of the fault that an incident, which comes at the end of the run, sums up. */
  at?: number;
  /** Nodes that reacted to an incident; times are µs after the fault. */
  nodes?: { node: string; learns: string; told_by: string[]; learned_us: number; recovered_us: number | null }[];
}

/** All links and totals at one time; a byte for each direction of a link, and a byte of state for a link. */
export interface Tick {
  t: number;
  totals: Float64Array;
  load: Uint8Array;
  queue: Uint8Array;
  state: Uint8Array;
}

export interface RunEnd {
  t: number;
  completion_ps: number;
  nodes: number;
  correct: number;
  wrong: string;
  deadlock: boolean;
}

/** A frame that crossed a link at `t` picoseconds; `number` counts those since the link is looked at. */
export interface Crossing {
  number: number;
  t: number;
  from: string;
  to: string;
  length: number;
  words: string;
}

/** One variant of a run as far as the page has received it. */
export interface Track {
  name: string;
  label: string;
  tick_ps: number;
  bound_ps: number;
  /** Real seconds for each second, of a run in real time. */
  dilation?: number;
  /** Names of links in the order of the bytes of a tick. */
  links: string[];
  totals: string[];
  jobs: Job[];
  planned: { t: number; text: string }[];
  ticks: Tick[];
  events: RunEvent[];
  end: RunEnd | null;
  /** Bytes of all ticks that are kept. */
  bytes: number;
  /** Frames that the recording kept, in order of time, by link. */
  frames: Map<string, Crossing[]>;
}

/** State of the session on the server. */
export interface SessionState {
  mode: "live" | "replay";
  paused: boolean;
  pace: number | null;
  variant: string;
  ended: boolean;
  words: string;
  read_only: boolean;
  /** True if there is a scenario to which faults by hand can be added. */
  saves: boolean;
  /** True for a run in real time, which cannot be paused. */
  real: boolean;
  by_hand: Record<string, Record<string, unknown>[]>;
}

/** The choice in the picture: a node, a link (both by position), or nothing. */
export type Selection = { kind: "node" | "link"; at: number } | null;

/** Keys of a fault as a scenario file has them, without its time. */
export type FaultKeys = Record<string, string | number>;
