// SPDX-License-Identifier: Apache-2.0
/**
 * Panels beside the fabric. A panel is a module that exports a component which gets `page`; to add one, add its line.
 *
 * @import { Page } from "./main.js"
 */
import { Inspector } from "./panels/inspect.js";
import { ChartsPanel } from "./charts/panel.js";
import { Events } from "./panels/events.js";
import { FramePanel } from "./panels/frame.js";

/** @type {{id: string, label: string, Panel: (props: {page: Page}) => any}[]} */
export const PANELS = [
  { id: "inspect", label: "Inspect", Panel: Inspector },
  { id: "events", label: "Events", Panel: Events },
  { id: "charts", label: "Charts", Panel: ChartsPanel },
  { id: "frame", label: "Frame", Panel: FramePanel },
];
