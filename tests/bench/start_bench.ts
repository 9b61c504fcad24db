// Prints how long commands take from source, beside a program that does nothing: the lowest and the median.
// Run: deno run --allow-run --allow-read --allow-write --allow-env --allow-sys=uid --unstable-kv tests/bench/start_bench.ts

import { sourceCommand } from "../../scripts/postern.ts";
import { CatalogueStore } from "../../src/clusters/mod.ts";
import { createWorld } from "../../src/runtime/mod.ts";
import { storedCatalogue } from "../support/catalogue_program.ts";

interface Start {
  readonly name: string;
  readonly args: readonly string[];
  /** What the door of the measurement is told, for `postern proxy`. */
  readonly config?: string;
  /** Whether the catalogue is stored. */
  readonly hasCatalogue?: boolean;
}

const names = Array.from({ length: 10_000 }, (_, at) => `apps.cluster-${at}.region${at % 17}.example.net`);
const few = names.slice(0, 100).map((name) => `  - { to: other.${name}, via: direct }\n`).join("");
const many = names.map((name) => `  - { to: ${name}, via: direct }\n`).join("");
const listen = 'listen: { mixed: "127.0.0.1:0" }\n';

const starts: readonly Start[] = [
  { name: "an empty program", args: [] },
  { name: "postern version", args: ["version"] },
  { name: "postern --help", args: ["--help"] },
  { name: "postern status", args: ["status"] },
  { name: "proxy, no rules", args: ["proxy"], config: listen },
  {
    name: "proxy, 100 rules and a list of 10,000",
    args: ["proxy"],
    config: `${listen}routesFrom: list.txt\nroutes:\n${few}`,
  },
  { name: "proxy, 10,000 rules of a catalogue", args: ["proxy"], config: listen, hasCatalogue: true },
  { name: "proxy, 10,000 rules in YAML", args: ["proxy"], config: `${listen}routes:\n${many}` },
];

const rounds = 9;
const directory = await Deno.makeTempDir({ prefix: "postern-start-" });
try {
  for (const name of ["config", "state", "cache", "run", "filled"]) {
    await Deno.mkdir(`${directory}/${name}`, { mode: 0o700 });
  }
  await Deno.writeTextFile(`${directory}/empty.ts`, "");
  await Deno.writeTextFile(`${directory}/list.txt`, names.map((name) => `${name} direct\n`).join(""));
  const times = new Map(starts.map((start) => [start, new Array<number>()]));
  const { clock, files, stores } = createWorld({ main: import.meta.url, flags: [] });
  const store = new CatalogueStore({
    clock,
    files,
    stores,
    directory: `${directory}/filled/postern/catalogue`,
  });
  await store.put(storedCatalogue("main", 2026, 500), { signal: new AbortController().signal });
  // In turns, so that a busy moment of the machine is no one's alone.
  for (let round = 0; round < rounds; round++) {
    for (const [start, list] of times) list.push(await measure(start));
  }
  for (const [{ name }, list] of times) {
    list.sort((a, b) => a - b);
    const [lowest = NaN, median = NaN] = [list[0], list[rounds >> 1]];
    console.log(`${name.padEnd(40)} ${lowest.toFixed(0).padStart(5)} ms, median ${median.toFixed(0)} ms`);
  }
} finally {
  await Deno.remove(directory, { recursive: true });
}

/** From the start of the process to its first line for a door, else to its end. */
async function measure({ args, config, hasCatalogue }: Start): Promise<number> {
  const cache = `${directory}/${hasCatalogue ? "filled" : "cache"}`;
  const places = {
    config: `${directory}/config/postern`,
    state: `${directory}/state/postern`,
    cache: `${cache}/postern`,
    runtime: `${directory}/run/postern`,
    home: directory,
  };
  const all = [...args];
  if (config !== undefined) {
    await Deno.writeTextFile(`${directory}/postern.yaml`, config);
    all.push("--config", `${directory}/postern.yaml`);
  }
  const main = args.length === 0 ? `${directory}/empty.ts` : new URL("../../main.ts", import.meta.url).href;
  const begin = performance.now();
  await using child = new Deno.Command(Deno.execPath(), {
    args: [...sourceCommand(all, places), main, ...all],
    env: {
      XDG_CONFIG_HOME: `${directory}/config`,
      XDG_STATE_HOME: `${directory}/state`,
      XDG_CACHE_HOME: cache,
      XDG_RUNTIME_DIR: `${directory}/run`,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let ready = NaN;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    if (config === undefined || !text.startsWith("ready ")) continue;
    ready = performance.now() - begin;
    child.kill("SIGTERM");
  }
  const { success } = await child.status;
  if (config === undefined) return performance.now() - begin;
  if (!success || Number.isNaN(ready)) throw new Error(`Cannot start: postern ${all.join(" ")}`);
  return ready;
}
