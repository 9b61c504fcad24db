import type { Conn } from "./conn.ts";

/** A web stream over `conn.read`; its end does not affect the writing side. */
export function readableOf(
  conn: Pick<Conn, "read" | "abort">,
  chunk = 16 * 1024,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const into = new Uint8Array(chunk);
      const count = await conn.read(into);
      if (count === null) controller.close();
      else controller.enqueue(into.subarray(0, count));
    },
    cancel(reason) {
      conn.abort(reason);
    },
  }, { highWaterMark: 0 });
}

/** A web stream over `conn.write`; closing it is the half-close. */
export function writableOf(
  conn: Pick<Conn, "write" | "closeWrite" | "abort">,
): WritableStream<Uint8Array<ArrayBuffer>> {
  return new WritableStream({
    write: (bytes) => conn.write(bytes),
    close: () => conn.closeWrite(),
    abort: (reason) => conn.abort(reason),
  }, { highWaterMark: 1 });
}
