// SPDX-License-Identifier: Apache-2.0
/**
 * The websocket to the command: records in, commands out, answers by number.
 *
 * @import { Store } from "./store.js"
 */

const CLOSED = "The command has ended. What the page has received stays here.";

export class Connection {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {Map<number, {resolve: (values: any) => void, reject: (error: Error) => void}>} */ #open = new Map();
  #next = 1;

  /** @param {Store} store */
  constructor(store) {
    this.store = store;
  }

  connect() {
    const token = new URLSearchParams(location.search).get("token") ?? "";
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/live?token=${encodeURIComponent(token)}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#state("open", "");
    socket.onmessage = ({ data }) =>
      typeof data === "string" ? this.#text(JSON.parse(data)) : this.store.take(data);
    socket.onclose = ({ reason }) => {
      this.#state("closed", reason ? `Not connected: ${reason}.` : CLOSED);
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
      if (this.#socket?.readyState !== WebSocket.OPEN) return reject(new Error("the command has ended"));
      this.#open.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ ...values, id }));
    });
  }

  /** Ask a question of railyard/web/answers.py. @param {string} what @param {Record<string, unknown>} values
   * @returns {Promise<any>} */
  async ask(what, values) {
    return (await this.call({ do: "ask", what, ...values })).values;
  }

  /** @param {any} message */
  #text(message) {
    const waiting = this.#open.get(message.id);
    this.#open.delete(message.id);
    if (message.type === "state") {
      this.store.session = message;
      this.store.changed("session");
    } else if (message.type === "refused") {
      if (waiting) waiting.reject(new Error(message.text));
      else this.store.say(message.text, true);
    } else waiting?.resolve(message);
  }

  /** @param {"open" | "closed"} connection @param {string} farewell */
  #state(connection, farewell) {
    this.store.connection = connection;
    this.store.farewell = farewell;
    this.store.changed("session");
  }
}
