/** A journey as `harness/frames/describe.py` writes it; docs/use/follow.md explains its keys. */

export interface Part {
  name: string;
  title: string;
  start: number;
  stop: number;
  fields: { name: string; text: string }[];
}

export interface Source {
  file: string;
  line: number;
  text: string;
}

export interface Step {
  kind: "state" | "table" | "condition" | "statement";
  name: string;
  source?: Source;
  outcome?: boolean;
  lookup?: {
    key: { name: string; value: string; asked: string }[];
    hit: boolean;
    action: string;
    params: [string, number][];
    packets: number | null;
  };
  target?: string;
  value?: number;
}

export interface Hop {
  node: string;
  port_in: number;
  port_out: number | null;
  lane_in: number | null;
  lane_out: number | null;
  decided_by: string;
  decided_at: Source | null;
  dropped: string;
  frame_in: { bytes: string; parts: Part[] };
  frame_out: { bytes: string; parts: Part[] } | null;
  changes: { header: string; field: string; before: string | null; after: string | null }[];
  steps: Step[];
}

export interface Journey {
  arrived: boolean;
  end: string;
  time_ps: number;
  hops: Hop[];
  sources: Record<string, string>;
  tables: "planned" | "present";
  down: string[];
}
