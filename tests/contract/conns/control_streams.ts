import { Messages } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { InstanceStream } from "../../../src/control/instance_stream.ts";
import { StreamClient } from "../../../src/listeners/pages/stream_client.ts";
import { StdioConn } from "../../../src/runtime/terminal/stdio_conn.ts";
import { systemClock } from "../../../src/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { type ConnKind, type Pair, swapped } from "../conn_contract.ts";

export function controlStreams(): readonly ConnKind[] {
  return [
    {
      name: "a stream through the control socket",
      of: "InstanceStream",
      madeBy: ["src/control/control_client.ts"],
      open: streamPair,
    },
    {
      name: "the instance's end of a stream through the control socket",
      of: "StreamClient",
      madeBy: ["src/listeners/pages/serve_stream.ts"],
      open: () => swapped(streamPair()),
    },
    {
      name: "standard input and output",
      of: "StdioConn",
      madeBy: ["src/runtime/terminal/terminal.ts"],
      open: stdioPair,
      cannot: {
        "can be disposed twice, and the peer sees it": "the peer sees only the end of the process",
        "can be aborted, and the peer sees it": "the peer sees only the end of the process",
      },
    },
  ];
}

function streamPair(): Promise<Pair> {
  const [a, b] = memoryPair();
  const near = new InstanceStream(a, new Messages(a), {
    from: "instance",
    readEnd: (text) => new PosternError("unreachable", text),
  });
  // A client that does not read the reason must not cost each test a second.
  const clock = { ...systemClock, after: (_ms: number, task: () => void) => systemClock.after(20, task) };
  return Promise.resolve({ near, far: new StreamClient(b, new Messages(b), clock) });
}

function stdioPair(): Promise<Pair> {
  const [inner, far] = memoryPair();
  const near = new StdioConn({
    input: { read: (into) => inner.read(new Uint8Array(into.buffer as ArrayBuffer)) },
    output: { write: async (bytes) => (await inner.write(bytes.slice()), bytes.length) },
    endOutput: () => inner.closeWrite(),
    lingers: () => Promise.resolve(undefined),
  }, new FakeClock());
  return Promise.resolve({ near, far, close: () => inner[Symbol.asyncDispose]() });
}
