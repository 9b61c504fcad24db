import { described, text } from "../config/mod.ts";
import type { Conn, Transport } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { defineTransport } from "./define_transport.ts";

/** Refuses every target with the sentence it was given. */
export class Reject implements Transport {
  readonly name: string;
  readonly #sentence: string;

  constructor(name: string, sentence: string) {
    this.name = name;
    this.#sentence = sentence;
  }

  dial(): Promise<Conn> {
    return Promise.reject(new PosternError("not_allowed", this.#sentence));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** `reject: SENTENCE`, told to the client. */
export default defineTransport({
  type: "reject",
  settings: described(
    text({ max: 1000, describe: "the sentence that the client is told" }),
    "Refuses every target, with this sentence.",
  ),
  create: (sentence, { name }) => new Reject(name, sentence),
});
