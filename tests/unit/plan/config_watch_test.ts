import assert from "node:assert/strict";
import { ConfigWatch } from "../../../src/plan/mod.ts";
import { settle } from "../../support/fake_clock.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { recordingLog } from "../../support/recording_log.ts";

const path = "/config/config.yaml";

function watching(files: MemoryFiles): { watch: ConfigWatch; changes: () => number } {
  let count = 0;
  return { watch: new ConfigWatch({ files }, recordingLog(), () => void count++), changes: () => count };
}

Deno.test("ConfigWatch reports a changed content once, and no other change", async () => {
  const files = new MemoryFiles({ [path]: "a" });
  const { watch, changes } = watching(files);
  using _watch = watch;
  await watch.follow({ texts: new Map([[path, "a"]]) });
  files.put("/config/other", "x");
  files.put(path, "a");
  await settle();
  assert.equal(changes(), 0);
  files.put(path, "b");
  await settle();
  files.put(path, "b");
  await settle();
  assert.equal(changes(), 1);
});

Deno.test("ConfigWatch reports a removed file, and its return, even empty", async () => {
  const files = new MemoryFiles({ [path]: "a" });
  const { watch, changes } = watching(files);
  using _watch = watch;
  await watch.follow({ texts: new Map([[path, "a"]]) });
  await files.remove(path);
  files.put("/config/other", "x");
  await settle();
  assert.equal(changes(), 1);
  files.put(path, "");
  await settle();
  assert.equal(changes(), 2);
});

Deno.test("ConfigWatch reports a change between the reading and the watch", async () => {
  const files = new MemoryFiles({ [path]: "newer" });
  const { watch, changes } = watching(files);
  using _watch = watch;
  await watch.follow({ texts: new Map([[path, "read before"]]) });
  assert.equal(changes(), 1);
});

Deno.test("ConfigWatch reports an earlier change of a file that is added later in a watched directory", async () => {
  const files = new MemoryFiles({ [path]: "a", "/config/ssh": "newer" });
  const { watch, changes } = watching(files);
  using _watch = watch;
  await watch.follow({ texts: new Map([[path, "a"]]) });
  await watch.follow({ texts: new Map([[path, "a"], ["/config/ssh", "read before"]]) });
  assert.equal(changes(), 1);
});

Deno.test("ConfigWatch waits for a list that was missing", async () => {
  const files = new MemoryFiles({ [path]: "a" });
  const { watch, changes } = watching(files);
  using _watch = watch;
  await watch.follow({ texts: new Map([[path, "a"], ["/lists/big.txt", undefined]]) });
  assert.equal(changes(), 0);
  files.put("/lists/big.txt", "any direct");
  await settle();
  assert.equal(changes(), 1);
});

Deno.test("ConfigWatch follows a link to a new target with the same content", async () => {
  const files = new MemoryFiles({ [path]: "a" });
  let real = "/first/config.yaml";
  files.real = (asked) => Promise.resolve(asked === path ? real : asked);
  const { watch, changes } = watching(files);
  using _watch = watch;
  await watch.follow({ texts: new Map([[path, "a"]]) });
  real = "/second/config.yaml";
  files.put("/config/..data", "swapped");
  await settle();
  assert.equal(changes(), 0);
  // The content changes at the link's new target; only that directory causes an event.
  const text = files.readTextIfThere.bind(files);
  files.readTextIfThere = (asked) => asked === path ? Promise.resolve("b") : text(asked);
  files.put("/first/other", "x");
  await settle();
  assert.equal(changes(), 0);
  files.put("/second/config.yaml", "b");
  await settle();
  assert.equal(changes(), 1);
});

Deno.test("ConfigWatch reports nothing after its disposal", async () => {
  const files = new MemoryFiles({ [path]: "a" });
  const { watch, changes } = watching(files);
  await watch.follow({ texts: new Map([[path, "a"]]) });
  files.put(path, "b");
  watch[Symbol.dispose]();
  await settle();
  files.put(path, "c");
  await settle();
  assert.equal(changes(), 0);
});

Deno.test("ConfigWatch reports a new name in a directory that a pattern searches", async () => {
  const files = new MemoryFiles({ [path]: "a", "/conf.d/one": "x" });
  const { watch, changes } = watching(files);
  using _watch = watch;
  const texts = new Map([[path, "a"], ["/conf.d/one", "x"]]);
  await watch.follow({ texts, listings: new Map([["/conf.d", ["one"]], ["/gone.d", []]]) });
  files.put("/conf.d/one", "x");
  await settle();
  assert.equal(changes(), 0);
  files.put("/conf.d/two", "");
  await settle();
  files.put("/conf.d/two", "");
  await settle();
  assert.equal(changes(), 1);
});

Deno.test("ConfigWatch ignores a missing directory", async () => {
  const files = new MemoryFiles({ [path]: "a" });
  const watched = files.watch.bind(files);
  files.watch = (directory, changed) => {
    if (directory !== "/config") throw new Error("no such directory");
    return watched(directory, changed);
  };
  const log = recordingLog();
  using watch = new ConfigWatch({ files }, log, () => {});
  await watch.follow({ texts: new Map([[path, "a"], ["/home/me/.ssh/config", undefined]]) });
  assert.deepEqual(log.lines, []);
});
