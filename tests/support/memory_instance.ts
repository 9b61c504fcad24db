import { CatalogueRefresh } from "../../src/fleet/mod.ts";
import { runInstance } from "../../src/instance/mod.ts";
import type { RunInstanceOptions } from "../../src/instance/run_instance.ts";
import type { Conn } from "../../src/core/mod.ts";
import { parseIp } from "../../src/words/mod.ts";
import type { MemoryNetwork } from "./memory_network.ts";
import type { MemoryWorld } from "./memory_world.ts";
import { type LoggedLine, recordingLog } from "./recording_log.ts";

/** An instance that runs in a memory world. */
export interface RunningInstance {
  readonly addresses: readonly string[];
  readonly lines: readonly LoggedLine[];
  /** Settles when the instance ends. */
  readonly ended: Promise<void>;
  readonly hasEnded: () => boolean;
}

/** Starts an instance and waits until it is ready; rejects if the start fails. */
export async function startInstance(
  world: MemoryWorld,
  options: Partial<RunInstanceOptions> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<RunningInstance> {
  const log = recordingLog();
  const ready = Promise.withResolvers<readonly string[]>();
  let hasEnded = false;
  const onReady = (addresses: readonly string[]) => Promise.resolve(ready.resolve(addresses));
  const refresh: RunInstanceOptions["refresh"] = (world, options) => new CatalogueRefresh(world, options);
  const ended = runInstance(world, { version: "1.2.3", id: "default", log, refresh, onReady, ...options }, {
    signal,
  });
  const settled = ended.finally(() => hasEnded = true);
  settled.catch(ready.reject);
  return { addresses: await ready.promise, lines: log.lines, ended: settled, hasEnded: () => hasEnded };
}

/**
 * Requests an IPv4 target from an instance on 127.0.0.1 over SOCKS5; returns the reply code and the
 * connection, closed after a refusal.
 */
export async function askSocks5(
  network: MemoryNetwork,
  instance: number,
  target: { readonly host: string; readonly port: number },
): Promise<{ code: number; conn: Conn }> {
  const conn = await network.connect({ host: "127.0.0.1", port: instance }, {
    signal: new AbortController().signal,
  });
  await conn.write(new Uint8Array([5, 1, 0]));
  await take(conn, 2);
  const address = parseIp(target.host) ?? [];
  await conn.write(new Uint8Array([5, 1, 0, 1, ...address, target.port >> 8, target.port & 255]));
  const reply = await take(conn, 10);
  const code = reply[1] ?? -1;
  if (code !== 0) await conn[Symbol.asyncDispose]();
  return { code, conn };
}

/** Reads exactly `count` bytes. */
export async function take(conn: Conn, count: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(count);
  let length = 0;
  while (length < count) {
    const more = await conn.read(bytes.subarray(length));
    if (more === null) throw new Error(`the connection ended after ${length} of ${count} bytes`);
    length += more;
  }
  return bytes;
}
