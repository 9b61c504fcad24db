import { Http1Problem } from "./http1_problem.ts";

/** The maximum number of interim responses (RFC 9110, section 15.2) before the final one. */
export const mostInterim = 16;

/** The maximum total size of their heads. */
const mostBytes = 64 * 1024;

/** Counts the interim responses to one request. */
export class InterimCount {
  #count = 0;
  #bytes = 0;

  /** Throws when there are too many. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (++this.#count <= mostInterim && this.#bytes <= mostBytes) return;
    throw new Http1Problem(502, "Cannot read the response", { reason: "too many 1xx responses" });
  }
}
