import { type Conn, Messages } from "../../src/core/mod.ts";
import { joinBytes } from "../../src/core/mod.ts";
import { copyBody } from "../../src/http/mod.ts";
import { decodeResponseHead, type Fields, responseFraming } from "../../src/wire/mod.ts";

export interface Answer {
  readonly status: number;
  readonly fields: Fields;
  readonly text: string;
}

/** A client that sends raw requests and reads whole answers. */
export class PageClient {
  readonly #conn: Conn;
  readonly #messages: Messages;

  constructor(conn: Conn) {
    this.#conn = conn;
    this.#messages = new Messages(conn);
  }

  write(text: string): Promise<void> {
    return this.#conn.write(new Uint8Array([...text].map((character) => character.charCodeAt(0))));
  }

  /** Returns the next answer; undefined when the server has closed. */
  async answer(method = "GET"): Promise<Answer | undefined> {
    const head = await this.#messages.read(decodeResponseHead);
    if (!head) return undefined;
    const chunks: Uint8Array[] = [];
    await copyBody(this.#messages, responseFraming(head, method), (bytes) => {
      chunks.push(bytes.slice());
      return Promise.resolve();
    });
    return { status: head.status, fields: head.fields, text: new TextDecoder().decode(joinBytes(chunks)) };
  }

  /** Sends `lines`, each without its line end, and returns the answer. */
  async ask(...lines: readonly string[]): Promise<Answer> {
    await this.write(`${lines.join("\r\n")}\r\n\r\n`);
    const answer = await this.answer(lines[0]?.split(" ")[0]);
    if (!answer) throw new Error("The server closed without an answer");
    return answer;
  }
}
