// SPDX-License-Identifier: Apache-2.0
/** Figures and names as the page writes them. */

/** A time in picoseconds, in microseconds. @param {number} ps */
export function us(ps) {
  const value = ps / 1e6;
  const digits = value >= 1000 ? 1 : value >= 10 ? 2 : 3;
  return `${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} µs`;
}

/** @param {number} bytes */
export function size(bytes) {
  for (const [unit, factor] of /** @type {[string, number][]} */ ([["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]))
    if (bytes >= factor) return `${(bytes / factor).toLocaleString("en", { maximumFractionDigits: 1 })} ${unit}`;
  return `${bytes} B`;
}

/** @param {number} value */
export const count = (value) => value.toLocaleString("en");

/** A byte of load as a share. @param {number} byte */
export const percent = (byte) => `${Math.round((100 * byte) / 255)} %`;

/** Kinds of nodes in words. @type {Record<string, string>} */
export const KINDS = {
  npu: "NPU", gpu: "GPU", spare: "spare NPU", cpu: "CPU", lrs: "low-radix switch", hrs: "high-radix switch",
  hbs: "switch of a domain", rail: "rail switch", spine: "spine switch", core: "core switch", router: "router",
  ocs: "optical circuit switch",
};

/** Class of an event's mark. @param {string} kind @returns {string} */
export function classOf(kind) {
  if (kind === "incident") return "summary";
  if (kind === "fault" || kind === "deadlock" || kind === "cut-off") return "fault";
  if (kind.startsWith("job")) return "job";
  return kind === "notice" || kind === "rewrite" ? "control" : "change";
}
