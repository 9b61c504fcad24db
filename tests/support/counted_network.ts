import type { Conn } from "../../src/core/mod.ts";
import type { Network } from "../../src/world/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";

/** The machine's network, with what it was asked for. */
export interface CountedNetwork extends Network {
  /** How often something was connected to or looked up. */
  readonly asked: number;
  /** How many of the connections have not been closed here. */
  readonly open: number;
  /** What refuses from now on, whatever is there. */
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
