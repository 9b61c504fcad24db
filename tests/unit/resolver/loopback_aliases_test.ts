import assert from "node:assert/strict";
import { loopbackAliases } from "../../../src/resolver/mod.ts";

Deno.test("loopbackAliases() has a command for each address on macOS only", () => {
  assert.deepEqual(loopbackAliases("darwin", ["127.64.0.1", "127.64.0.2"]), [
    "sudo ifconfig lo0 alias 127.64.0.1/32 up",
    "sudo ifconfig lo0 alias 127.64.0.2/32 up",
  ]);
  for (const platform of ["linux", "windows"] as const) {
    assert.deepEqual(loopbackAliases(platform, ["127.64.0.1"]), []);
  }
});
