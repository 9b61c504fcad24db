import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { listenError } from "../../../../src/runtime/network/listen_error.ts";
import { createNetwork } from "../../../../src/runtime/network/network.ts";

const network = createNetwork();

Deno.test("listen() reports why a socket's file cannot be created", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/file`, "");
    const cases = [
      [`${directory}/none/postern.sock`, "no such file or directory"],
      [`${directory}/file/postern.sock`, "a part of the path is not a directory"],
    ] as const;
    for (const [path, reason] of cases) {
      assert.throws(() => network.listen({ path }), {
        code: "config",
        message: `Cannot listen on ${path}: ${reason}`,
      });
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("listenError() mentions the port only if there is one", () => {
  const denied = new Deno.errors.PermissionDenied("Permission denied (os error 13)");
  const hintFor = (endpoint: Parameters<typeof listenError>[1]) => {
    const error = listenError(denied, endpoint);
    assert.ok(error instanceof PosternError);
    return error.hint;
  };
  assert.match(hintFor({ path: "/postern.sock" }) ?? "", /check its owner/);
  assert.match(hintFor({ host: "127.0.0.1", port: 80 }) ?? "", /a port of 1024 or higher/);
});
