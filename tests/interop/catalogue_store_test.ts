import assert from "node:assert/strict";
import { CatalogueStore, routesOf } from "../../src/catalogue/mod.ts";
import { createWorld } from "../../src/runtime/mod.ts";
import { storedCatalogue } from "../support/catalogue_program.ts";
import { isLongRun } from "../support/long_runs.ts";
import { namespaceTest, type Under } from "../support/namespaces.ts";

const program = new URL("../support/catalogue_program.ts", import.meta.url).pathname;
const { clock, files, stores } = createWorld({ main: import.meta.url, flags: [] });
const { signal } = new AbortController();

Deno.test("CatalogueStore keeps the old or the new catalogue after kill -9 at any moment of an update", async () => {
  await using place = await Place.make();
  await place.store.put(storedCatalogue("main", 2000, 300), { signal });
  const seen = new Set<number>();
  for (let round = 1; round <= 12; round++) {
    const year = 2000 + round * 50;
    await using writer = place.start(["put", place.directory, "main", String(year), "300", "40"]);
    await writer.hasSaid("stored");
    await new Promise((resolve) => setTimeout(resolve, round * 7));
    await writer.kill();
    const { catalogues, notes } = await place.store.read();
    assert.deepEqual(notes, []);
    const [found] = catalogues;
    assert.ok(found);
    const stored = new Date(found.fetched).getUTCFullYear();
    assert.ok(stored >= year && stored < year + 40, `${stored} in round ${round}`);
    assert.deepEqual(found, storedCatalogue("main", stored, 300));
    seen.add(stored - year);
  }
  assert.ok(seen.size > 1, [...seen].join());
  await place.store.put(storedCatalogue("main", 3000, 300), { signal });
  assert.deepEqual(await place.read(), ["main 3000 300"]);
});

Deno.test("CatalogueStore accepts two concurrent updates, of one catalogue and of two", async () => {
  await using place = await Place.make();
  await using one = place.start(["put", place.directory, "main", "2000", "400", "15"]);
  await using two = place.start(["put", place.directory, "main", "2100", "400", "15"]);
  await using other = place.start(["put", place.directory, "other", "2200", "400", "15"]);
  await other.hasSaid("stored");
  let reads = 0;
  const all = Promise.all([one.ended, two.ended, other.ended]).then((codes) => codes);
  let codes: readonly number[] | undefined;
  void all.then((ended) => codes = ended);
  while (codes === undefined) {
    const { catalogues, notes } = await place.store.read();
    assert.deepEqual(notes, []);
    for (const { clusters } of catalogues) assert.equal(clusters.length, 400);
    reads++;
  }
  assert.deepEqual(codes, [0, 0, 0]);
  assert.ok(reads > 1, `${reads}`);
  const [main, last] = await place.read();
  assert.match(main ?? "", /^main (?:2014|2114) 400$/);
  assert.equal(last, "other 2214 400");
});

Deno.test("CatalogueStore closes its directory to other users", async () => {
  await using place = await Place.make();
  await place.store.put(storedCatalogue("main", 2000, 1), { signal });
  const mode = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
  assert.equal(await mode(place.directory), 0o700);
  assert.equal(await mode(`${place.directory}/snapshot.json`), 0o600);
});

Deno.test("CatalogueStore works after damage of its store on the disk", async () => {
  await using place = await Place.make();
  await place.store.put(storedCatalogue("main", 2000, 100), { signal });
  const path = `${place.directory}/catalogue.kv`;
  const bytes = await Deno.readFile(path);
  for (let at = 8192; at < bytes.length; at += 7) bytes[at] = (bytes[at] ?? 0) ^ 0x55;
  await Deno.writeFile(path, bytes);
  const { catalogues, notes } = await place.store.read();
  assert.deepEqual(catalogues.map(({ name }) => name), ["main"]);
  assert.match(notes.join(), /it is damaged: .*postern uses its copy/);
  const told = await place.store.put(storedCatalogue("main", 2001, 100), { signal });
  assert.match(
    told.join(),
    /postern renamed it to ".*\/catalogue\.kv\.damaged-[0-9T]+Z" and created a new store/,
  );
  assert.deepEqual(await place.read(), ["main 2001 100"]);
});

Deno.test("CatalogueStore reads the copy for any damage of the store, and Deno never ends it", async () => {
  await using place = await Place.make();
  await place.store.put(storedCatalogue("main", 2000, 300), { signal });
  const path = `${place.directory}/catalogue.kv`;
  const whole = await Deno.readFile(path);
  for (let round = 1; round <= (isLongRun() ? 200 : 12); round++) {
    await Deno.writeFile(path, damaged(whole, round));
    await using reader = place.start(["read", place.directory]);
    await reader.hasSaid("main 2000 300\n");
    assert.equal(await reader.ended, 0, `round ${round}`);
  }
});

/** Changed bytes, a stretch of zeros, or an early end; deterministic. */
function damaged(whole: Uint8Array<ArrayBuffer>, round: number): Uint8Array<ArrayBuffer> {
  let state = round;
  const random = (below: number) => (state = (state * 48271) % 2147483647) % below;
  for (let warm = 0; warm < 5; warm++) random(1);
  const bytes = whole.slice();
  if (round % 3 === 0) return bytes.subarray(0, random(bytes.length));
  if (round % 3 === 1) return bytes.fill(0, random(bytes.length), random(bytes.length));
  for (let change = 0; change < 200; change++) {
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 + random(255));
  }
  return bytes;
}

Deno.test("CatalogueStore reads the copy without write permission", async () => {
  await using place = await Place.make();
  await place.store.put(storedCatalogue("main", 2000, 10), { signal });
  await using reader = place.start(["read", place.directory], { mayWrite: false });
  assert.equal(await reader.ended, 0);
  await reader.hasSaid("main 2000 10\n");
});

namespaceTest(
  "CatalogueStore keeps the old catalogue on a full disk, reports that, and works again when there is room",
  "--mount",
  async (wrap) => {
    await using place = await Place.make();
    const under = wrap(`mount -t tmpfs -o size=3m,mode=0700 tmpfs ${place.directory}`);
    const { directory } = place;
    const script = [
      place.command(["put", directory, "main", "2000", "100"]),
      place.command(["put", directory, "main", "2001", "20000"]),
      place.command(["read", directory]),
      ["mount", "-o", "remount,size=40m", directory],
      place.command(["put", directory, "main", "2002", "100"]),
      place.command(["read", directory]),
    ].map((command) => command.map((word) => `'${word}'`).join(" ")).join("\n");
    assert.deepEqual(await place.lines(under, script), [
      "stored",
      `internal: Cannot use "${directory}/catalogue.kv": no space left`,
      "main 2000 100",
      "stored",
      "main 2002 100",
    ]);
  },
);

namespaceTest(
  "CatalogueStore reads a read-only directory, and cannot store there",
  "--mount",
  async (wrap) => {
    await using place = await Place.make();
    const { directory } = place;
    await place.store.put(storedCatalogue("main", 2000, 100), { signal });
    const under = wrap(`mount --bind ${directory} ${directory} && mount -o remount,ro,bind ${directory}`);
    const script = [["read", directory], ["put", directory, "main", "2001", "100"]]
      .map((args) => place.command(args).map((word) => `'${word}'`).join(" ")).join("\n");
    assert.deepEqual(await place.lines(under, script), [
      "main 2000 100",
      `not_allowed: Cannot lock "${directory}/lock": the file system is read-only`,
    ]);
  },
);

Deno.test("CatalogueStore stores 2,000 clusters with 20 domains each in under two seconds", async () => {
  await using place = await Place.make();
  const catalogue = storedCatalogue("main", 2000, 2000);
  await place.store.put(catalogue, { signal });
  const start = performance.now();
  const { routes, warnings } = routesOf(catalogue);
  await place.store.put(catalogue, { signal });
  const stored = performance.now();
  await place.store.read();
  const read = performance.now();
  assert.deepEqual([routes.length, warnings.length], [40_000, 0]);
  assert.ok(stored - start < 2000, `stored in ${stored - start} ms`);
  assert.ok(read - stored < 1000, `read in ${read - stored} ms`);
});

class Place implements AsyncDisposable {
  readonly directory: string;
  readonly store: CatalogueStore;

  private constructor(directory: string) {
    this.directory = directory;
    this.store = new CatalogueStore({ clock, files, stores, directory });
  }

  static async make(): Promise<Place> {
    const directory = `${await Deno.makeTempDir({ prefix: "catalogue-" })}/c`;
    await Deno.mkdir(directory, { mode: 0o700 });
    return new Place(directory);
  }

  async read(): Promise<string[]> {
    const { catalogues } = await this.store.read();
    return catalogues.map(({ name, fetched, clusters }) =>
      `${name} ${new Date(fetched).getUTCFullYear()} ${clusters.length}`
    );
  }

  command(args: readonly string[], { mayWrite = true } = {}): string[] {
    const { directory } = this;
    const write = mayWrite ? [`--allow-write=${directory}`] : [];
    const flags = [`--allow-read=${directory}`, ...write, "--allow-sys=uid", "--no-prompt"];
    return [Deno.execPath(), "run", "--quiet", ...flags, program, ...args];
  }

  start(args: readonly string[], options: { mayWrite?: boolean } = {}): Writer {
    const [path = "", ...rest] = this.command(args, options);
    return new Writer(new Deno.Command(path, { args: rest, stdin: "null", stdout: "piped" }).spawn());
  }

  /** The output of a script of commands in a separate namespace. */
  async lines([path = "", ...args]: Under, script: string): Promise<string[]> {
    const command = new Deno.Command(path, { args: [...args, "bash", "-c", script], stderr: "inherit" });
    return new TextDecoder().decode((await command.output()).stdout).trim().split("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.directory.replace(/\/c$/, ""), { recursive: true });
  }
}

class Writer implements AsyncDisposable {
  readonly ended: Promise<number>;
  readonly #child: Deno.ChildProcess;
  #said = "";
  readonly #reading: Promise<void>;
  #heard = () => {};

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.ended = child.status.then(({ code }) => code);
    this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.#said += text;
      this.#heard();
    }
    this.#heard();
  }

  async hasSaid(text: string): Promise<void> {
    const isOver = this.#reading.then(() => true);
    while (!this.#said.includes(text)) {
      const more = new Promise<boolean>((resolve) => this.#heard = () => resolve(false));
      if (await Promise.race([more, isOver])) break;
    }
    assert.ok(this.#said.includes(text), this.#said);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ended;
    await this.#reading;
  }
}
