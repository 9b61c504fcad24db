import { PosternError } from "../../words/mod.ts";
import { errorJson, type PageResponse } from "./page.ts";
import type { WatchUpdate } from "../../control/mod.ts";

/** The media type of a stream of events (HTML Standard, section 9.2). */
const eventStreamType = "text/event-stream";

/** All who watch are told the same steps: each is written once. */
const written = new WeakMap<WatchUpdate, Uint8Array>();
const encoder = new TextEncoder();

/** What happens at a door as server-sent events, each a line of JSON; 503 where too many watch. */
export function eventsPage(watched: AsyncIterable<WatchUpdate> | undefined): PageResponse {
  if (!watched) {
    const error = new PosternError("refused", "Cannot watch this door: too many watch it already", {
      hint: "close the page or postern top somewhere else",
    });
    return { ...errorJson(error), status: 503 };
  }
  return {
    status: 200,
    fields: [["Content-Type", eventStreamType], ["Cache-Control", "no-store"]],
    body: events(watched),
  };
}

async function* events(watched: AsyncIterable<WatchUpdate>): AsyncGenerator<Uint8Array> {
  for await (const message of watched) {
    let bytes = written.get(message);
    if (!bytes) written.set(message, bytes = encoder.encode(`data: ${JSON.stringify(message)}\n\n`));
    yield bytes;
  }
}
