import assert from "node:assert/strict";
import { describe } from "../../../../src/words/mod.ts";
import { fileError } from "../../../../src/runtime/files/file_error.ts";

Deno.test("fileError() suggests no permission that postern never has", () => {
  for (const path of ["/dev/stdin", "/dev/shm/config.yaml", "/proc/self/fd/0"]) {
    const refused = new Deno.errors.NotCapable(`Requires all access to "${path}", run again with …`);
    const error = fileError(refused, `read "${path}"`);
    assert.equal(error.code, "config");
    assert.equal(describe(error), `Cannot read "${path}": postern has no access to files of the system`);
    assert.equal(error.hint, "use a file outside /dev, /proc and /sys");
  }
});

Deno.test("fileError() names the missing permission", () => {
  const refused = new Deno.errors.NotCapable(
    'Requires read access to "a", run again with the --allow-read flag',
  );
  const { code, message, hint } = fileError(refused, 'read "a"');
  assert.deepEqual([code, message, hint], [
    "not_allowed",
    'Cannot read "a": missing permission --allow-read',
    "start postern with --allow-read",
  ]);
});
