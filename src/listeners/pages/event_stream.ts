import { PosternError } from "../../words/mod.ts";
import { errorJson, type PageResponse } from "./page.ts";

/** The media type of server-sent events (HTML Standard, section 9.2). */
const eventStreamType = "text/event-stream";

/** All watchers get the same steps, so each step is encoded once. */
const written = new WeakMap<object, Uint8Array>();
const encoder = new TextEncoder();

/** The updates of an instance as server-sent events, each one line of JSON; 503 with too many watchers. */
export function eventsPage(watched: AsyncIterable<object> | undefined): PageResponse {
  if (!watched) {
    const error = new PosternError("refused", "Cannot watch this instance: it has too many watchers", {
      hint: "close another status page or postern top",
    });
    return { ...errorJson(error), status: 503 };
  }
  return {
    status: 200,
    fields: [["Content-Type", eventStreamType], ["Cache-Control", "no-store"]],
    body: events(watched),
  };
}

async function* events(watched: AsyncIterable<object>): AsyncGenerator<Uint8Array> {
  for await (const message of watched) {
    let bytes = written.get(message);
    if (!bytes) written.set(message, bytes = encoder.encode(`data: ${JSON.stringify(message)}\n\n`));
    yield bytes;
  }
}
