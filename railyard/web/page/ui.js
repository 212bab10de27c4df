// SPDX-License-Identifier: Apache-2.0
/**
 * Preact with htm, and the hook by which components follow the store.
 *
 * @import { Store } from "./store.js"
 */
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);

/** Draw a component anew when one of these has changed. @param {Store} store @param {...string} topics */
export function useStore(store, ...topics) {
  const [, again] = useState(0);
  useEffect(() => {
    let frame = 0;
    const forget = store.on((what) => {
      if (topics.includes(what) && !frame)
        frame = requestAnimationFrame(() => {
          frame = 0;
          again((count) => count + 1);
        });
    });
    return () => {
      forget();
      cancelAnimationFrame(frame);
    };
  }, [store]);
}
