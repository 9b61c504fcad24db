import assert from "node:assert/strict";
import { fetchRuntime, packagedSystems } from "../../../scripts/denort.ts";

Deno.test("fetchRuntime() names the systems that have a runtime when asked for another", async () => {
  assert.deepEqual(packagedSystems, ["linux-x64", "macos-arm64", "windows-x64"]);
  await assert.rejects(fetchRuntime("linux-arm64"), /linux-arm64: .* linux-x64, macos-arm64, windows-x64$/);
});
