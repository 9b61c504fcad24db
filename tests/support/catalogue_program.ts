import type { Catalogue } from "../../src/clusters/mod.ts";
import { CatalogueStore } from "../../src/catalogue/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { createWorld } from "../../src/runtime/mod.ts";

/**
 * A process that uses a catalogue store. `read DIRECTORY` prints `NAME YEAR COUNT` of each catalogue. `put
 * DIRECTORY NAME YEAR COUNT [TIMES]` stores a catalogue that many times, each time a year later, and prints a
 * line after the first time.
 */
if (import.meta.main) Deno.exit(await run(Deno.args));

async function run([verb = "", directory = "", name = "", year = "0", count = "0", times = "1"]: string[]) {
  const { clock, files, stores } = createWorld({ main: import.meta.url, flags: [] });
  const store = new CatalogueStore({ clock, files, stores, directory });
  try {
    if (verb === "read") {
      const { catalogues, notes } = await store.read();
      for (const { name, fetched, clusters } of catalogues) {
        console.log(`${name} ${new Date(fetched).getUTCFullYear()} ${clusters.length}`);
      }
      for (const note of notes) console.log(`note: ${note}`);
      return 0;
    }
    for (let time = 0; time < Number(times); time++) {
      const stored = storedCatalogue(name, Number(year) + time, Number(count));
      const notes = await store.put(stored, { signal: new AbortController().signal });
      if (time === 0) console.log("stored");
      for (const note of notes) console.log(`note: ${note}`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    console.log(`${error.code}: ${error.message}`);
    return 1;
  }
}

/** Returns a catalogue of `count` clusters with twenty domains each; the domains depend on the year. */
export function storedCatalogue(name: string, year: number, count: number): Catalogue {
  const clusters = Array.from({ length: count }, (_, index) => {
    const base = `c-${name}-${year}-${index}.example.net`;
    const more = Array.from({ length: 18 }, (_, domain) => `s${domain}.${name}-${index}.example.com`);
    return {
      id: `c-${name}-${index}`,
      displayName: `Cluster ${index}`,
      tenant: "t-all",
      facts: { jumphost: `jump${index % 50}.example.net`, jumphostDomains: more.join(",") },
      dynamicFacts: { openshiftBaseDomain: base, openshiftApiURL: `https://api.${base}:6443` },
    };
  });
  return { name, source: "https://api.example.net/", fetched: `${year}-06-01T00:00:00.000Z`, clusters };
}
