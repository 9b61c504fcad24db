import assert from "node:assert/strict";
import { createNetwork } from "../../../../src/runtime/network/network.ts";

Deno.test({
  name: "Network.lookup() reports a missing permission, not an unknown name",
  permissions: { net: false },
  fn: async () => {
    const { signal } = new AbortController();
    await assert.rejects(createNetwork().lookup("localhost", { signal }), {
      code: "not_allowed",
      message: 'Cannot resolve "localhost": postern runs without the network permission',
      hint: "add --allow-net to its flags",
    });
  },
});
