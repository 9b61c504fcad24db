import { jsonIn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** Maximum number of characters in one line; etcd's limit for objects is far below. */
const longest = 8 * 1024 * 1024;

/** Assembles the lines of a watch, one JSON value each, from chunks that may end anywhere. */
export class KubeLines {
  readonly #decoder = new TextDecoder();
  readonly #limit: number;
  #rest = "";

  constructor({ limit = longest }: { readonly limit?: number } = {}) {
    this.#limit = limit;
  }

  /**
   * Returns the values of the lines that these bytes complete; throws `protocol` for invalid JSON and for
   * lines that are too long.
   */
  push(bytes: Uint8Array<ArrayBuffer>): unknown[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const values: unknown[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = this.#rest + text.slice(start, end);
      this.#rest = "";
      start = end + 1;
      if (line.length > this.#limit) throw this.#tooLong();
      if (line.trim() !== "") values.push(valueIn(line));
    }
    this.#rest += text.slice(start);
    if (this.#rest.length > this.#limit) throw this.#tooLong();
    return values;
  }

  #tooLong(): PosternError {
    return new PosternError(
      "protocol",
      `Cannot read the watch: a line of more than ${this.#limit} characters`,
    );
  }
}

function valueIn(line: string): unknown {
  const value = jsonIn(line);
  if (value !== undefined) return value;
  throw new PosternError("protocol", "Cannot read the watch: a line is not JSON");
}
