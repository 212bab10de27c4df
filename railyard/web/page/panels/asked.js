// SPDX-License-Identifier: Apache-2.0
/**
 * Answers about a live run that a panel asks anew while it is open.
 *
 * @import { Page } from "../main.js"
 */
import { useEffect, useState } from "preact/hooks";

const PERIOD = 400; // milliseconds

/** The last answer to a question about a name, asked as long as a live run goes on; null before the first.
 * @param {Page} page @param {string} what @param {string} name empty: nothing is asked @returns {any} */
export function useAsked(page, what, name) {
  const [answer, set] = useState(/** @type {any} */ (null));
  const { store } = page;
  useEffect(() => {
    let open = true;
    let waiting = false;
    const ask = async () => {
      if (!name || waiting || store.session.mode !== "live" || store.session.ended || !store.follow) return;
      waiting = true;
      try {
        const values = await page.connection.ask(what, { name });
        if (open) set(values);
      } catch {
        // Between two variants nobody answers.
      }
      waiting = false;
    };
    set(null);
    ask();
    const timer = setInterval(ask, PERIOD);
    return () => {
      open = false;
      clearInterval(timer);
    };
  }, [what, name]);
  return answer?.name === name ? answer : null;
}
