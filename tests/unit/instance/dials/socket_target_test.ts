import assert from "node:assert/strict";
import { connectToSocket } from "../../../../src/instance/dials/socket_target.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const control = { runtime: "/run/me", real: "/private/run/me" };
const spellings = ["/run/me/default.sock", "/home/me/link/default.sock", `${control.real}/default.sock`];
for (const path of spellings) {
  Deno.test(`connectToSocket() refuses ${path}, a spelling of a control socket`, async () => {
    const world = new MemoryWorld();
    const files = {
      ...world.files,
      owned: () => Promise.resolve(true),
      real: (path: string) => Promise.resolve(path.replace(/^(?:\/run\/me|\/home\/me\/link)/, control.real)),
    };
    for (const one of new Set([path, await files.real(path)])) world.network.listen({ path: one });
    const { network, places } = world;
    assert.equal(places.runtime, control.runtime);
    await assert.rejects(
      connectToSocket({ network, files: files as unknown as MemoryWorld["files"], places }, path, {
        signal: new AbortController().signal,
      }),
      {
        code: "not_allowed",
        message: `Cannot connect to "${path}": postern's control sockets are in that directory`,
      },
    );
  });
}
