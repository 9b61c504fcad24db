import assert from "node:assert/strict";
import { ReadyFile } from "../../../src/instance/ready_file.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const path = "/run/ready";

Deno.test("ReadyFile contains one address per line, from the last write", async () => {
  const { files } = new MemoryWorld();
  const file = new ReadyFile(files, path);
  await file.write(["127.0.0.1:1", "dns:127.0.0.1:53"]);
  assert.equal(await files.readText(path), "127.0.0.1:1\ndns:127.0.0.1:53\n");
  await file.write(["127.0.0.1:2"]);
  assert.equal(await files.readText(path), "127.0.0.1:2\n");
});

Deno.test("ReadyFile.remove() is final, also during a write", async () => {
  const { files } = new MemoryWorld();
  const file = new ReadyFile(files, path);
  await file.write(["127.0.0.1:1"]);
  const gate = Promise.withResolvers<void>();
  const replace = files.replace.bind(files);
  files.replace = async (...args) => {
    await gate.promise;
    await replace(...args);
  };
  const writing = file.write(["127.0.0.1:2"]);
  const removing = file.remove();
  gate.resolve();
  await Promise.all([writing, removing]);
  await file.write(["127.0.0.1:3"]);
  assert.equal(await files.info(path), undefined);
});

Deno.test("ReadyFile.remove() leaves a file that could not be written", async () => {
  const { files } = new MemoryWorld({ files: { [path]: "another's\n" } });
  const file = new ReadyFile(files, path);
  files.replace = () => Promise.reject(new PosternError("config", "Cannot write it"));
  await assert.rejects(file.write(["127.0.0.1:1"]), /Cannot write it/);
  await file.remove();
  assert.equal(await files.readText(path), "another's\n");
});
