import assert from "node:assert/strict";
import { type FileInfo, readSettled } from "../../../src/world/mod.ts";
import { pause } from "../../../src/core/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

/** A file that a test saves. */
class SavedFile {
  readonly clock = new FakeClock();
  reads = 0;
  #text = "";
  #modified: number | undefined;

  save(text: string, ago = 0): void {
    this.#text = text;
    this.#modified = this.clock.date().getTime() - ago;
  }

  /** `takes` is the duration of a read. */
  read(takes = 0): Promise<string> {
    const info = (): Promise<FileInfo | undefined> =>
      Promise.resolve(
        this.#modified === undefined
          ? undefined
          : { kind: "file", size: 0, modified: this.#modified, mode: undefined, owner: undefined },
      );
    return readSettled("f", { files: { info }, clock: this.clock }, async () => {
      this.reads++;
      const text = this.#text;
      if (takes > 0) await pause(this.clock, takes, new AbortController());
      return text;
    });
  }
}

Deno.test("readSettled() does not return a file that was truncated before a write", async () => {
  const file = new SavedFile();
  file.save("");
  const reading = file.read();
  await settle();
  await file.clock.advance(30);
  file.save("whole");
  await file.clock.advance(100);
  assert.equal(await reading, "whole");
  assert.equal(file.clock.waiting, 0);
});

Deno.test("readSettled() does not return content from before a save, even after a slow read", async () => {
  const file = new SavedFile();
  file.save("");
  const reading = file.read(200);
  await settle();
  await file.clock.advance(10);
  file.save("whole");
  await file.clock.advance(1000);
  assert.equal(await reading, "whole");
});

const atOnce = [
  { name: "saved a while ago", ago: 50 },
  { name: "from the future", ago: -1 },
  { name: "that does not exist", ago: undefined },
];
for (const { name, ago } of atOnce) {
  Deno.test(`readSettled() reads a file ${name} once`, async () => {
    const file = new SavedFile();
    if (ago !== undefined) file.save("text", ago);
    assert.equal(await file.read(), ago === undefined ? "" : "text");
    assert.equal(file.reads, 1);
  });
}

Deno.test("readSettled() returns a file that never settles as it is", async () => {
  const file = new SavedFile();
  file.save("0");
  const reading = file.read();
  for (let at = 1; at < 30; at++) {
    await file.clock.advance(20);
    file.save(String(at));
  }
  assert.match(await reading, /^\d+$/);
  assert.equal(file.reads, 10);
});
