import assert from "node:assert/strict";
import { createNetwork } from "../../../../src/runtime/network/network.ts";

Deno.test({
  name: "Network.lookup() says that a permission is missing, not that the name is unknown",
  permissions: { net: false },
  fn: async () => {
    const { signal } = new AbortController();
    await assert.rejects(createNetwork().lookup("localhost", { signal }), {
      code: "not_allowed",
      message: 'Cannot resolve "localhost": postern runs without the permission for it',
      hint: "add --allow-net to its flags",
    });
  },
});
