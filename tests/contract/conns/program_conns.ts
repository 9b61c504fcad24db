import assert from "node:assert/strict";
import type { Clock, Conn } from "../../../src/core/mod.ts";
import { createNetwork } from "../../../src/runtime/network/network.ts";
import { pipeProgram } from "../../../src/runtime/programs/piped_program.ts";
import { systemClock } from "../../../src/runtime/system_clock.ts";
import { runProxyCommand } from "../../../src/ssh/hops/proxy_command.ts";
import { findPeer } from "../../support/peers.ts";
import type { ConnKind, Pair } from "../conn_contract.ts";
import { needsUnix } from "./sockets.ts";

const { signal } = new AbortController();

/**
 * Connects its input and output to a socket and keeps half-closes, because a Deno program cannot close only
 * its output.
 */
const bridge = `
import os, socket, sys, threading
far = socket.socket(socket.AF_UNIX)
far.connect(sys.argv[1])
def copy(read, write, end):
    while (data := read(65536)):
        while data: data = data[write(data):]
    end()
up = threading.Thread(target=copy, args=(lambda n: os.read(0, n), far.send, lambda: far.shutdown(socket.SHUT_WR)))
up.start()
copy(far.recv, lambda data: os.write(1, data), lambda: os.close(1))
up.join()
`;

export function programConns(): readonly ConnKind[] {
  const [python, sh] = [findPeer("python"), findPeer("sh")];
  const missing = [["python", python], ["sh", sh]] as const;
  const reasons = missing.flatMap(([name, at]) => "missing" in at ? [`needs ${name}: ${at.missing}`] : []);
  const skipped = reasons[0] ?? needsUnix;
  const [pythonPath, shell] = [python, sh].map((at) => "path" in at ? at.path : "");
  const pipe = (command: readonly string[]) => pipeProgram(command, { signal }, systemClock);
  const command = { of: "CommandConn", madeBy: ["src/ssh/hops/proxy_command.ts"], skipped };
  const run = (socket: string, clock: Clock) =>
    runProxyCommand(`${pythonPath} -c '${bridge}' ${socket}`, {
      process: { pipe, env: () => shell },
      clock,
    }, { signal, alias: "jump1" });
  const withoutWord = "a command that ends before the server's first byte has failed";
  return [
    {
      name: "a piped program",
      of: "PipeConn",
      madeBy: ["src/runtime/programs/piped_program.ts"],
      open: () => programPair(async (socket) => (await pipe([pythonPath ?? "", "-c", bridge, socket])).conn),
      skipped,
    },
    {
      ...command,
      name: "a ProxyCommand to a server that sends first",
      open: async () => {
        const pair = await programPair((socket) => run(socket, systemClock), { greeting: "!" });
        assert.equal(await pair.near.read(new Uint8Array(1)), 1);
        return pair;
      },
    },
    {
      ...command,
      name: "a ProxyCommand to a server that waits for the client",
      // The command does not wait for it either.
      open: () =>
        programPair((socket) =>
          run(socket, { ...systemClock, after: (_ms, then) => systemClock.after(0, then) })
        ),
      cannot: {
        "reads null at the peer's end, repeatedly": withoutWord,
        "keeps writing after the peer's half-close": withoutWord,
      },
    },
  ];
}

async function programPair(
  start: (socket: string) => Promise<Conn>,
  { greeting = "" }: { readonly greeting?: string } = {},
): Promise<Pair> {
  const directory = await Deno.makeTempDir();
  await using listening = createNetwork().listen({ path: `${directory}/s` });
  const accepted = async () => {
    const conn = await listening.accept() ?? assert.fail("closed");
    await conn.write(new TextEncoder().encode(greeting));
    return conn;
  };
  const [near, far] = await Promise.all([start(`${directory}/s`), accepted()]);
  return { near, far, close: () => Deno.remove(directory, { recursive: true }) };
}
