import { PosternError } from "../words/mod.ts";

/** The most that one event may have, in characters. */
const longest = 64 * 1024 * 1024;

/** Server-sent events of one line each, as bytes that may be cut anywhere; gives what each one says. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  #begun = "";

  take(bytes: Uint8Array): string[] {
    const events = (this.#begun + this.#decoder.decode(bytes, { stream: true })).split("\n\n");
    this.#begun = events.pop() ?? "";
    if (this.#begun.length > longest) {
      throw new PosternError("protocol", "Cannot read the door's events: one of them does not end");
    }
    return events.flatMap((event) => event.startsWith("data: ") ? [event.slice("data: ".length)] : []);
  }
}
