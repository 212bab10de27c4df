// SPDX-License-Identifier: Apache-2.0
/**
 * The websocket to the command: records in, commands out, answers by number. A page that has its recording inside,
 * as `railyard serve --html` writes it, replays that and connects to nothing.
 *
 * @import { Store } from "./store.js"
 */

const CLOSED = "The command has ended. What the page has received stays here.";

const REFUSED = 4401; // railyard/web/app.py closes with this code

const ALONE = "this page is a file without a command behind it: serve the recording or the scenario";

export class Connection {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {Map<number, {resolve: (values: any) => void, reject: (error: Error) => void}>} */ #open = new Map();
  #next = 1;

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
  }

  connect() {
    const inside = document.getElementById("recording");
    if (inside) return this.#replay(inside);
    const token = new URLSearchParams(location.search).get("token") ?? "";
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/live?token=${encodeURIComponent(token)}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#state("open", "");
    socket.onmessage = ({ data }) =>
      typeof data === "string" ? this.#text(JSON.parse(data)) : this.store.take(data);
    socket.onclose = ({ code, reason }) => {
      this.#state(code === REFUSED ? "refused" : "closed", reason ? `Not connected: ${reason}.` : CLOSED);
      for (const { reject } of this.#open.values()) reject(new Error("the command has ended"));
      this.#open.clear();
    };
    this.#socket = socket;
  }

  /** Send a command without waiting; a refusal appears as a notice. @param {Record<string, unknown>} values */
  send(values) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(values));
    else this.store.say("The command has ended: nothing can be changed any more.", true);
  }

  /** Send a command and return its reply. @param {Record<string, unknown>} values @returns {Promise<any>} */
  call(values) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) return reject(new Error(this.#socket ? "the command has ended" : ALONE));
      this.#open.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ ...values, id }));
    });
  }

  /** Ask a question of railyard/web/answers.py. @param {string} what @param {Record<string, unknown>} values
   * @returns {Promise<any>} */
  async ask(what, values) {
    return (await this.call({ do: "ask", what, ...values })).values;
  }

  /** Replay the records inside the page: lengths and records one after the other, compressed, as base64.
   * @param {HTMLElement} inside */
  async #replay(inside) {
    const packed = Uint8Array.from(atob(inside.textContent?.trim() ?? ""), (digit) => digit.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const data = await new Response(stream).arrayBuffer();
    const view = new DataView(data);
    this.store.follow = false;
    for (let at = 0; at < data.byteLength; ) {
      const next = at + 5 + view.getUint32(at, true);
      this.store.take(data.slice(at + 4, next));
      at = next;
    }
    this.store.session = { ...this.store.session, words: inside.dataset.words ?? "" };
    this.#state("inside", "");
  }

  /** @param {any} message */
  #text(message) {
    const waiting = this.#open.get(message.id);
    this.#open.delete(message.id);
    if (message.type === "state") {
      if (message.ended && !this.store.session.ended) this.store.say("");
      if (message.mode === "replay") this.store.follow = false; // from the beginning of the first variant
      this.store.session = message;
      this.store.changed("session");
    } else if (message.type === "refused") {
      if (waiting) waiting.reject(new Error(message.text));
      else this.store.say(message.text, true);
    } else waiting?.resolve(message);
  }

  /** @param {"open" | "closed" | "refused" | "inside"} connection @param {string} farewell */
  #state(connection, farewell) {
    this.store.say(""); // an older notice would hide the farewell
    this.store.connection = connection;
    this.store.farewell = farewell;
    this.store.changed("session");
  }
}
