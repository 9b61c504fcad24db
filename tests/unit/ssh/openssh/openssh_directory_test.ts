import assert from "node:assert/strict";
import { PosternError } from "../../../../src/words/mod.ts";
import { OpensshDirectory } from "../../../../src/ssh/openssh/openssh_directory.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { MemoryNetwork } from "../../../support/memory_network.ts";
import { recordingLog } from "../../../support/recording_log.ts";

Deno.test("OpensshDirectory is created after the user fixed its parent directory", async () => {
  let isMended = false;
  const asked: string[] = [];
  const files = Object.assign(new MemoryFiles(), {
    privateDirectory(path: string): Promise<void> {
      asked.push(path);
      if (isMended) return Promise.resolve();
      return Promise.reject(new PosternError("config", "Cannot use the directory: others can write to it"));
    },
  });
  await using directory = new OpensshDirectory({
    parent: "/run/me/ssh",
    platform: "linux",
    network: new MemoryNetwork(),
    files,
    clock: new FakeClock(),
    log: recordingLog(),
  });
  for (const time of ["first", "second"]) {
    await assert.rejects(directory.socket(), /others can write to it/, time);
  }
  isMended = true;
  assert.match(await directory.socket(), /^\/run\/me\/ssh\/[0-9a-f]{8}\/1$/);
  // Later calls find the directory.
  const before = asked.length;
  assert.match(await directory.socket(), /\/2$/);
  assert.equal(asked.length, before);
});
