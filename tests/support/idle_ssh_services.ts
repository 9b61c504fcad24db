import type { Clock, Log } from "../../src/core/mod.ts";
import type { Files, Network } from "../../src/world/mod.ts";
import { SshServices } from "../../src/ssh/mod.ts";

/** ssh services without hosts, for tests of other transports. */
export function idleSshServices(
  parts: { readonly network: Network; readonly clock: Clock; readonly files: Files; readonly log: Log },
): SshServices {
  return new SshServices({
    ...parts,
    reading: () => ({
      read: (alias) => Promise.reject(new Error(`this test has no ssh host ${alias}`)),
      [Symbol.dispose]() {},
    }),
  });
}
