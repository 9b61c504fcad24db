import assert from "node:assert/strict";
import { checkSocketPath } from "../../../src/world/mod.ts";
import type { PosternError } from "../../../src/words/mod.ts";

Deno.test("checkSocketPath() counts bytes, not characters, up to the system's limit", () => {
  checkSocketPath(`/${"a".repeat(106)}`, "linux");
  checkSocketPath(`/${"a".repeat(102)}`, "darwin");
  for (
    const [path, platform] of [[`/${"a".repeat(107)}`, "linux"], [`/${"é".repeat(52)}`, "darwin"]] as const
  ) {
    assert.throws(
      () => checkSocketPath(path, platform),
      (error: PosternError) => error.code === "config" && error.hint !== undefined,
    );
  }
});
