import assert from "node:assert/strict";
import { fetchRuntime, packagedSystems } from "../../../scripts/denort.ts";

Deno.test("fetchRuntime() names the supported systems in its error for another one", async () => {
  assert.deepEqual(packagedSystems, ["linux-x64", "macos-arm64", "windows-x64"]);
  await assert.rejects(fetchRuntime("linux-arm64"), /linux-arm64: .* linux-x64, macos-arm64, windows-x64$/);
});
