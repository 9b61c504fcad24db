import { PosternError } from "../words/mod.ts";

/** The maximum length of an event in characters. */
const longest = 64 * 1024 * 1024;

/**
 * Splits a byte stream into single-line server-sent events and returns their data. Chunks may end anywhere.
 */
export class EventReader {
  readonly #decoder = new TextDecoder();
  #begun = "";

  take(bytes: Uint8Array): string[] {
    const events = (this.#begun + this.#decoder.decode(bytes, { stream: true })).split("\n\n");
    this.#begun = events.pop() ?? "";
    if (this.#begun.length > longest) {
      throw new PosternError("protocol", "Cannot read the events of the instance: an event is too long");
    }
    return events.flatMap((event) => event.startsWith("data: ") ? [event.slice("data: ".length)] : []);
  }
}
