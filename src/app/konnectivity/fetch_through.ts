import { formatTarget, type Log, PosternError, within, type World } from "../../core/mod.ts";
import { Direct, Konnectivity, type KonnectivitySettings } from "../../transports/mod.ts";

export interface FetchOptions {
  readonly url: string;
  /** How many times at once. */
  readonly count: number;
}

/** Fetches a page of text through a Konnectivity server, and gives it once for each time. */
export async function fetchThroughKonnectivity(
  settings: KonnectivitySettings,
  { url, count }: FetchOptions,
  world: World,
  { signal }: { log: Log; signal: AbortSignal },
): Promise<string[]> {
  const { clock, network, files } = world;
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "http:") {
    throw new PosternError("usage", `Cannot fetch ${JSON.stringify(url)}`, {
      hint: "write http://HOST:PORT/PATH",
    });
  }
  const host = parsed.hostname.replace(/^\[(.*)\]$/, "$1");
  const target = { host, port: Number(parsed.port || 80) };
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
  return await within({ clock, ms: 60_000, signal, error: late }, (signal) => {
    const fetchOnce = async () => {
      await using conn = await way.dial(target, { signal });
      const request = `GET ${parsed.pathname}${parsed.search} HTTP/1.0\r\nHost: ${parsed.host}\r\n\r\n`;
      await conn.write(new TextEncoder().encode(request));
      return bodyOf(await readAll((into) => conn.read(into)));
    };
    return Promise.all(Array.from({ length: count }, fetchOnce));
  });
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
