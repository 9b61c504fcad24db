import assert from "node:assert/strict";
import { SshConfigFiles } from "../../../../src/ssh/config/ssh_config_files.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";

Deno.test("SshConfigFiles.contents excludes files that are still being read", async () => {
  const files = new MemoryFiles({ "/ssh/config": "Host a\n", "/ssh/conf.d/b": "Host b\n" });
  const [read, list] = [files.read.bind(files), files.list.bind(files)];
  const allowed = Promise.withResolvers<void>();
  files.read = async (...asked) => (await allowed.promise, await read(...asked));
  files.list = async (...asked) => (await allowed.promise, await list(...asked));
  const config = new SshConfigFiles({ files, clock: new FakeClock(), uid: 1000 });
  const reading = [config.load("/ssh/config"), config.load("/ssh/missing"), config.matching("/ssh/conf.d/*")];
  await settle();
  assert.deepEqual([...config.contents.texts], [["/ssh/missing", undefined]]);
  assert.deepEqual([...config.contents.listings], []);
  assert.deepEqual(config.directories, ["/ssh/conf.d"]);
  allowed.resolve();
  await Promise.all(reading);
  assert.deepEqual(config.contents.texts.get("/ssh/config"), "Host a\n");
  assert.deepEqual([...config.contents.listings], [["/ssh/conf.d", ["b"]]]);
});
