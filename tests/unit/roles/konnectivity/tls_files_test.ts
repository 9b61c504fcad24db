import assert from "node:assert/strict";
import { readTls, WatchedTls } from "../../../../src/roles/konnectivity/tls_files.ts";
import type { FileInfo, Files } from "../../../../src/world/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";

/** A certificate and its key that a test can renew. */
class Pair {
  readonly clock = new FakeClock();
  readonly files: Files;
  reads = 0;
  readonly #texts = new Map<string, { text: string; modified: number }>();

  constructor() {
    this.save("cert", "old cert", 5000);
    this.save("key", "old key", 5000);
    const files: Partial<Files> = {
      info: (path) => {
        const file = this.#texts.get(path);
        const info: FileInfo | undefined = file &&
          { kind: "file", size: 0, modified: file.modified, mode: undefined, owner: undefined };
        return Promise.resolve(info);
      },
      readText: (path) => {
        this.reads++;
        const file = this.#texts.get(path);
        return file ? Promise.resolve(file.text) : Promise.reject(new Error(`no ${path}`));
      },
    };
    this.files = files as Files;
  }

  save(name: string, text: string, ago = 0): void {
    this.#texts.set(name, { text, modified: this.clock.date().getTime() - ago });
  }
}

const paths = { cert: "cert", key: "key" };

Deno.test("readTls() returns a renewed certificate only with its key", async () => {
  const pair = new Pair();
  pair.save("cert", "new cert");
  const reading = readTls(paths, pair);
  await settle();
  await pair.clock.advance(30);
  pair.save("key", "new key");
  await pair.clock.advance(200);
  assert.deepEqual(await reading, { cert: "new cert", key: "new key" });
});

Deno.test("readTls() reads unchanged files at once, and returns nothing without paths", async () => {
  const pair = new Pair();
  assert.deepEqual(await readTls(paths, pair), { cert: "old cert", key: "old key" });
  assert.deepEqual(await readTls({}, pair), {});
  assert.equal(pair.reads, 2);
});

Deno.test("WatchedTls reads again after a second, or at once after a failure", async () => {
  const pair = new Pair();
  const watched = new WatchedTls(paths, pair);
  await watched.read();
  await watched.read();
  assert.equal(pair.reads, 2);
  await pair.clock.advance(1000);
  await watched.read();
  assert.equal(pair.reads, 4);
  const missing = new WatchedTls({ ca: "ca" }, pair);
  await assert.rejects(missing.read());
  pair.save("ca", "the ca", 5000);
  assert.deepEqual(await missing.read(), { ca: "the ca" });
});
