import { described, text } from "../config/mod.ts";
import type { Conn, DatagramPath, Transport } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { defineTransport } from "./define_transport.ts";

/** Rejects every target with a fixed sentence. */
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

  datagrams(): Promise<DatagramPath> {
    return Promise.reject(new PosternError("not_allowed", this.#sentence));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** `reject: SENTENCE`; the client receives the sentence. */
export default defineTransport({
  type: "reject",
  settings: described(
    text({ max: 1000, describe: "the error message for the client" }),
    "Rejects every target with this sentence.",
  ),
  create: (sentence, { name }) => new Reject(name, sentence),
});
