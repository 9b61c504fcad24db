import type { Conn } from "../../src/core/mod.ts";
import type { Network } from "../../src/world/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";

/** The machine's network, with counters. */
export interface CountedNetwork extends Network {
  /** The number of connections and lookups. */
  readonly asked: number;
  /** The number of connections that this side has not closed. */
  readonly open: number;
  /** If set, every connection fails with this error. */
  refusal: Error | undefined;
}

export function countedNetwork(): CountedNetwork {
  const network = createNetwork();
  const open = new Set<Conn>();
  let asked = 0;
  return {
    ...network,
    refusal: undefined,
    get asked() {
      return asked;
    },
    get open() {
      return open.size;
    },
    async connect(endpoint, options) {
      asked++;
      if (this.refusal) throw this.refusal;
      const conn = await network.connect(endpoint, options);
      open.add(conn);
      const { abort, [Symbol.asyncDispose]: dispose } = conn;
      conn.abort = (reason) => {
        open.delete(conn);
        abort.call(conn, reason);
      };
      conn[Symbol.asyncDispose] = async () => {
        open.delete(conn);
        await dispose.call(conn);
      };
      return conn;
    },
    async lookup(name, options) {
      asked++;
      return await network.lookup(name, options);
    },
  };
}
