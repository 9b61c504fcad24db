import { Http1Problem } from "./http1_problem.ts";

/** How many interim responses (RFC 9110, section 15.2) there may be before the final one. */
export const mostInterim = 16;

/** How many bytes their heads may have together. */
const mostBytes = 64 * 1024;

/** Counts the interim responses to one request. */
export class InterimCount {
  #count = 0;
  #bytes = 0;

  /** Fails when there are too many. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (++this.#count <= mostInterim && this.#bytes <= mostBytes) return;
    throw new Http1Problem(502, "Cannot read the answer", { reason: "too many 1xx responses" });
  }
}
