import assert from "node:assert/strict";
import type { Endpoint } from "../../../src/words/mod.ts";
import { inheritListening } from "../../../src/runtime/network/inherited_listening.ts";
import { createNetwork } from "../../../src/runtime/network/network.ts";
import type { ConnKind, Pair } from "../conn_contract.ts";

const { signal } = new AbortController();
const loopback = { host: "127.0.0.1", port: 0 };

/** Deno grants unix sockets only with the whole network. */
const hasNet = Deno.permissions.querySync({ name: "net" }).state === "granted";
export const needsUnix = Deno.build.os === "windows"
  ? "only on linux, darwin"
  : hasNet
  ? undefined
  : "needs --allow-net";

export function sockets(): readonly ConnKind[] {
  const socket = { of: "SocketConn", madeBy: ["src/runtime/network/network.ts"] };
  return [
    { ...socket, name: "a TCP socket", open: () => socketPair(loopback) },
    {
      ...socket,
      name: "a unix socket",
      open: async () => {
        const directory = await Deno.makeTempDir();
        const pair = await socketPair({ path: `${directory}/s` });
        return { ...pair, close: () => Deno.remove(directory, { recursive: true }) };
      },
      skipped: needsUnix,
    },
    {
      name: "a TCP socket from a given local address",
      of: "DuplexConn",
      madeBy: ["src/runtime/network/connect_from.ts"],
      open: () => socketPair(loopback, "127.0.0.1"),
    },
    {
      name: "a client of an inherited socket",
      of: "NodeSocketConn",
      madeBy: ["src/runtime/network/inherited_listening.ts"],
      open: async () => {
        await using listening = await inheritListening(loopback);
        const [far, near] = await Promise.all([
          createNetwork().connect(listening.endpoint, { signal }),
          listening.accept(),
        ]);
        return { near: near ?? assert.fail("closed"), far };
      },
    },
  ];
}

export async function socketPair(endpoint: Endpoint, from?: string): Promise<Pair> {
  const network = createNetwork();
  await using listening = network.listen(endpoint);
  const [near, far] = await Promise.all([
    network.connect(listening.endpoint, { signal, ...(from !== undefined && { from }) }),
    listening.accept(),
  ]);
  return { near, far: far ?? assert.fail("closed") };
}
