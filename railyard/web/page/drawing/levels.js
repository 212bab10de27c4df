// SPDX-License-Identifier: Apache-2.0
/** Levels of load, the bit of a link that is up, and sizes of what is drawn at a scale. */

export const LEVELS = 8; // level 0: idle
export const UP = 1;
/** Pixels a unit at which lines and labels have their usual size. */
export const USUAL = 72;

/** @typedef {{x: number, y: number, scale: number}} View pixels = (units - x, y) * scale */

/** Level of a byte of load or queue. @param {number} byte */
export const levelOf = (byte) => (byte === 0 ? 0 : 1 + ((byte * (LEVELS - 1)) >> 8));

/** Factor by which lines and labels grow with a picture larger than usual. @param {View} view */
export const growth = ({ scale }) => Math.max(1, scale / USUAL);

/** Units that a pixel of a line or of a label takes. @param {View} view */
export const pixel = (view) => growth(view) / view.scale;
