import { type Conn, type Log, pause, within } from "../../core/mod.ts";
import { formatTarget, PosternError, targetOf } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { abortable, directDialer, encodeRequest, HttpConnection, placeOf } from "../../http/mod.ts";
import { Konnectivity } from "../../transports/mod.ts";
import type { KonnectivitySettings } from "../../konnectivity/mod.ts";

export interface FetchThroughOptions {
  readonly url: string;
  /** The number of concurrent requests. */
  readonly count: number;
  /**
   * In ms: how long each request except the last keeps its connection open, and how long to wait after all of
   * them.
   */
  readonly delay: number;
  readonly after: number;
}

/** The results of the requests. */
export interface Fetched {
  readonly pages: readonly string[];
  readonly failures: readonly unknown[];
}

/** Fetches a text page through a Konnectivity server with concurrent requests. */
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
  const target = targetOf(parsed);
  await using transport = new Konnectivity(settings, {
    name: "konnectivity",
    network,
    files,
    clock,
    dialer: directDialer({ network, clock }),
  });
  const late = () => new PosternError("timeout", `Cannot fetch from ${formatTarget(target)}: timeout`);
  const secured = async (conn: Conn, signal: AbortSignal) =>
    isSecure ? await network.secure(conn, { serverName: target.host, alpn: ["http/1.1"], signal }) : conn;
  const fetchOnce = async (at: number) => {
    await using held = new AsyncDisposableStack();
    const page = await within({ clock, ms: 60_000, signal, error: late }, async (signal) => {
      const conn = await secured(await transport.dial(target, { signal }), signal);
      const connection = held.use(new HttpConnection(conn, { from: placeOf(parsed), closed: "protocol" }));
      return await abortable(connection, signal, () => textOf(connection, parsed));
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

/** Reads a page as text; throws unless its status is 2xx. */
async function textOf(connection: HttpConnection, { pathname, search, host }: URL): Promise<string> {
  const fields = [["Connection", "close"]] as const;
  const head = await connection.ask(encodeRequest({ target: `${pathname}${search}`, host, fields }));
  const { status } = head;
  if (status < 200 || status > 299) {
    throw new PosternError("unreachable", `Cannot fetch the page: the server answered ${status}`, {
      exit: 1,
    });
  }
  return new TextDecoder().decode(await connection.body(head, "GET", mostBytes));
}

const mostBytes = 16 << 20;
