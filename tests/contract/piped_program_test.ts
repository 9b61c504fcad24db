import assert from "node:assert/strict";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { pipeProgram } from "../../src/runtime/programs/piped_program.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { findPeer } from "../support/peers.ts";
import { connContract } from "./conn_contract.ts";

/** Joins its input and output to a socket, half-closes kept: a Deno program cannot close its output alone. */
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

const python = findPeer("python");
/** Deno grants unix sockets with the whole network only. */
const hasNet = Deno.permissions.querySync({ name: "net" }).state === "granted";
const skipped = "missing" in python
  ? `needs python: ${python.missing}`
  : hasNet
  ? undefined
  : "needs --allow-net";

connContract(
  "a piped program",
  async () => {
    const directory = await Deno.makeTempDir();
    const signal = new AbortController().signal;
    await using listening = createNetwork().listen({ path: `${directory}/s` });
    const command = ["path" in python ? python.path : "", "-c", bridge, `${directory}/s`];
    const { conn } = await pipeProgram(command, { signal }, systemClock);
    const far = await listening.accept() ?? assert.fail("closed");
    return { near: conn, far, close: () => Deno.remove(directory, { recursive: true }) };
  },
  { skipped },
);
