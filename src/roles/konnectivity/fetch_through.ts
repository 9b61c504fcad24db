import { type Conn, type Log, pause, within } from "../../core/mod.ts";
import { formatTarget, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { Direct, Konnectivity } from "../../transports/mod.ts";
import type { KonnectivitySettings } from "../../konnectivity/mod.ts";

export interface FetchThroughOptions {
  readonly url: string;
  /** How many times at once. */
  readonly count: number;
  /** How long, in ms, each but the last one stays after its request, and how long after all of them. */
  readonly delay: number;
  readonly after: number;
}

/** What came of requests. */
export interface Fetched {
  readonly pages: readonly string[];
  readonly failures: readonly unknown[];
}

/** Fetches a page of text through a Konnectivity server, so many times at once. */
export async function fetchThroughKonnectivity(
  settings: KonnectivitySettings,
  { url, count, delay, after }: FetchThroughOptions,
  world: World,
  { signal }: { log: Log; signal: AbortSignal },
): Promise<Fetched> {
  const { clock, network, files } = world;
  const parsed = URL.parse(url);
  const isSecure = parsed?.protocol === "https:";
  if (!parsed || (parsed.protocol !== "http:" && !isSecure)) {
    throw new PosternError("usage", `Cannot fetch ${JSON.stringify(url)}`, {
      hint: "write http://HOST:PORT/PATH",
    });
  }
  const host = parsed.hostname.replace(/^\[(.*)\]$/, "$1");
  const target = { host, port: Number(parsed.port || (isSecure ? 443 : 80)) };
  await using direct = new Direct({ network, clock });
  await using way = new Konnectivity(settings, {
    name: "konnectivity",
    network,
    files,
    clock,
    dialer: (target, options) => direct.dial(target, options),
  });
  const late = () =>
    new PosternError("timeout", `Cannot fetch from ${formatTarget(target)}: no answer in time`);
  const secured = async (conn: Conn, signal: AbortSignal) =>
    isSecure ? await network.secure(conn, { serverName: host, alpn: ["http/1.1"], signal }) : conn;
  const fetchOnce = async (at: number) => {
    await using held = new AsyncDisposableStack();
    const page = await within({ clock, ms: 60_000, signal, error: late }, async (signal) => {
      const conn = held.use(await secured(await way.dial(target, { signal }), signal));
      const request = `GET ${parsed.pathname}${parsed.search} HTTP/1.0\r\nHost: ${parsed.host}\r\n\r\n`;
      await conn.write(new TextEncoder().encode(request));
      return bodyOf(await readAll((into) => conn.read(into)));
    });
    if (delay > 0 && at < count - 1) await pause(clock, delay, { signal });
    return page;
  };
  const ended = await Promise.allSettled(Array.from({ length: count }, (_, at) => fetchOnce(at)));
  signal.throwIfAborted();
  if (after > 0) await pause(clock, after, { signal });
  return {
    pages: ended.flatMap((one) => one.status === "fulfilled" ? [one.value] : []),
    failures: ended.flatMap((one) => one.status === "rejected" ? [one.reason] : []),
  };
}

async function readAll(read: (into: Uint8Array<ArrayBuffer>) => Promise<number | null>): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (let buffer = new Uint8Array(16 * 1024), count; (count = await read(buffer)) !== null;) {
    parts.push(buffer.slice(0, count));
    length += count;
    if (length > mostBytes) throw new PosternError("protocol", "Cannot take a page of more than 16 MiB");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** What follows the head of an answer; one that is no success is an error. */
function bodyOf(answer: Uint8Array): string {
  const text = new TextDecoder("latin1").decode(answer.subarray(0, 64 * 1024));
  const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(text) ?? [];
  const end = text.indexOf("\r\n\r\n");
  if (status === undefined || end < 0) {
    throw new PosternError("protocol", "Cannot read the answer: it is not HTTP");
  }
  if (!status.startsWith("2")) {
    throw new PosternError("unreachable", `The page is not there: status ${status}`, { exit: 1 });
  }
  return new TextDecoder().decode(answer.subarray(end + 4));
}

const mostBytes = 16 << 20;
