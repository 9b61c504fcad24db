import { CatalogueStore } from "../src/catalogue/mod.ts";
import { createWorld } from "../src/runtime/mod.ts";
import { storedCatalogue } from "../tests/support/catalogue_program.ts";
import { startPostern } from "./bench_contenders.ts";
import { benchNc } from "./bench_nc.ts";
import { type BenchPlace, told } from "./bench_measure.ts";
import { type Demand, judge, type Sample, type Verdict } from "./bench_table.ts";

/** An instance, and the demand on the time until it accepts clients. */
interface Start {
  readonly name: string;
  readonly config: string;
  /** Whether to store a catalogue first. */
  readonly hasCatalogue?: boolean;
  readonly demand: Demand;
}

const names = Array.from({ length: 10_000 }, (_, at) => `apps.cluster-${at}.region${at % 17}.example.net`);
const few = names.slice(0, 100).map((name) => `  - { to: other.${name}, via: direct }\n`).join("");
const many = names.map((name) => `  - { to: ${name}, via: direct }\n`).join("");

/**
 * Measures the time from a command to its first answer, in turns, so that a busy moment affects all of them.
 */
export async function benchStart(place: BenchPlace): Promise<Verdict[]> {
  return [...await measureVersion(place), ...await benchNc(place), ...await measureContenders(place)];
}

function roundsOf(isSmoke: boolean): number {
  return isSmoke ? 1 : 9;
}

async function measureContenders({ directory, isSmoke }: BenchPlace): Promise<Verdict[]> {
  const list = `${directory}/routes.txt`;
  await Deno.writeTextFile(list, names.map((name) => `${name} direct\n`).join(""));
  const starts: readonly Start[] = [
    { name: "no rules", config: "default: direct\n", demand: "informative" },
    {
      name: "10,000 rules of a catalogue",
      config: "default: direct\n",
      hasCatalogue: true,
      demand: { atMost: 400 },
    },
    {
      name: "10,000 rules in a list and 100 in YAML",
      config: `routesFrom: ${list}\nroutes:\n${few}`,
      demand: { atMost: 400 },
    },
    { name: "10,000 rules in YAML", config: `routes:\n${many}`, demand: { atMost: 1500 } },
  ];
  const samples = starts.map((): Sample[] => []);
  for (let round = 0; round < roundsOf(isSmoke); round++) {
    for (const [at, { config, hasCatalogue }] of starts.entries()) {
      await using contender = await startPostern(
        directory,
        config,
        hasCatalogue ? { prepare: storeCatalogue } : {},
      );
      samples[at]?.push({ contender: "postern", value: contender.startMs });
    }
  }
  return starts.map(({ name, demand }, at) =>
    told(judge(`start with ${name}, ms`, samples[at] ?? [], demand))
  );
}

/** Stores five hundred clusters with twenty domains each. */
async function storeCatalogue(cache: string): Promise<void> {
  const { clock, files, stores } = createWorld({ main: import.meta.url, flags: [] });
  const store = new CatalogueStore({ clock, files, stores, directory: `${cache}/catalogue` });
  await store.put(storedCatalogue("main", 2026, 500), { signal: new AbortController().signal });
}

/** Compares `postern version` with an empty program built in the same way. */
async function measureVersion({ program, isSmoke }: BenchPlace): Promise<Verdict[]> {
  const empty = await program.empty();
  const more: Sample[] = [];
  for (let round = 0; round < roundsOf(isSmoke); round++) {
    const alone = await timeOf([empty]);
    more.push({ contender: "postern", value: await timeOf([program.path, "version"]) - alone });
  }
  return [told(judge("version, ms in addition to an empty program", more, { atMost: 30 }))];
}

async function timeOf([program = "", ...args]: readonly string[]): Promise<number> {
  const begun = performance.now();
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  const ms = performance.now() - begun;
  if (success) return ms;
  throw new Error(`Cannot measure ${program}: ${new TextDecoder().decode(stderr).trim()}`);
}
