import { duplex, DuplexConn, Messages } from "../../../src/core/mod.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import type { ConnKind } from "../conn_contract.ts";

export function memoryConns(): readonly ConnKind[] {
  return [
    {
      name: "MemoryConn",
      of: "MemoryConn",
      madeBy: ["tests/support/memory_conn.ts"],
      open: () => {
        const [near, far] = memoryPair();
        return Promise.resolve({ near, far });
      },
    },
    {
      name: "duplex() and DuplexConn",
      of: "DuplexConn",
      madeBy: [],
      open: async () => {
        const [inner, far] = memoryPair();
        return { near: new DuplexConn(await duplex(inner), { peer: inner.peer }), far };
      },
    },
    {
      name: "a DuplexConn at both ends",
      of: "DuplexConn",
      madeBy: [],
      open: async () => {
        const [a, b] = memoryPair();
        return {
          near: new DuplexConn(await duplex(a), { peer: a.peer }),
          far: new DuplexConn(await duplex(b), { peer: b.peer }),
        };
      },
    },
    {
      name: "a connection that its `Messages` still reads",
      of: "ContinuedConn",
      madeBy: ["src/core/streams/messages.ts"],
      open: () => {
        const [inner, far] = memoryPair();
        const messages = new Messages(inner);
        // The new owner of the connection gets its errors.
        messages.fill().catch(() => {});
        return Promise.resolve({ near: messages.goOn(), far });
      },
    },
  ];
}
