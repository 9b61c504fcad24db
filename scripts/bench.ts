import settings from "../deno.json" with { type: "json" };
import { benchInstance } from "./bench_instance.ts";
import { benchFleet } from "./bench_fleet.ts";
import type { BenchPlace } from "./bench_measure.ts";
import { benchForward } from "./bench_forward.ts";
import { benchProgram } from "./bench_program.ts";
import { benchKonnectivity } from "./bench_konnectivity.ts";
import { benchKubernetes } from "./bench_kubernetes.ts";
import { benchSsh } from "./bench_ssh.ts";
import { benchJson, benchPage, benchPicture, type BenchReport } from "./bench_report.ts";
import { benchRouter } from "./bench_router.ts";
import { benchStart } from "./bench_start.ts";
import { hasCollapsed, type Verdict } from "./bench_table.ts";
import { findPeer } from "./find_peers.ts";
import { peers } from "./peer_table.ts";
import { withPart } from "./reference_page.ts";

/** The parts of the benchmark, by the names that `--only` accepts. */
const parts: readonly { readonly name: string; readonly run: (place: BenchPlace) => Promise<Verdict[]> }[] = [
  { name: "router", run: benchRouter },
  { name: "start", run: benchStart },
  { name: "instance", run: benchInstance },
  { name: "ssh", run: benchSsh },
  { name: "forward", run: benchForward },
  { name: "fleet", run: benchFleet },
  { name: "kubernetes", run: benchKubernetes },
  { name: "konnectivity", run: benchKonnectivity },
];

/** Compares postern with its peers, round by round in turns, and reports missed demands. */
if (import.meta.main) Deno.exit(await bench(Deno.args));

/** Runs the requested parts and returns the exit code. */
async function bench(args: readonly string[]): Promise<number> {
  const isSmoke = args.includes("--smoke");
  const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : undefined;
  if (only !== undefined && !parts.some(({ name }) => name === only)) {
    console.error(`bench: error: --only must be one of ${parts.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  const found = await findPeer(peers.loadgen);
  if ("missing" in found) throw new Error(`Cannot measure: ${found.missing}`);
  const directory = await Deno.makeTempDir({ prefix: "postern-bench-" });
  try {
    const program = await benchProgram(directory);
    Deno.env.set("POSTERN_BIN", program.path);
    const verdicts: Verdict[] = [];
    for (const { name, run } of parts) {
      if (only === undefined || only === name) {
        verdicts.push(...await run({ isSmoke, directory, generator: found.path, program }));
      }
    }
    const missed = verdicts.filter(({ holds }) => !holds).length;
    console.log(`bench: ${verdicts.length - missed} met, ${missed} missed`);
    await writeReport({ ...place(), isSmoke, verdicts }, args.includes("--page"));
    if (!isSmoke) return missed === 0 ? 0 : 1;
    const collapsed = verdicts.filter(hasCollapsed);
    for (const { text } of collapsed) console.log(`collapsed: ${text}`);
    console.log("bench: this short run detects only a collapse; run without --smoke to check the demands");
    return collapsed.length === 0 ? 0 : 1;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function place(): Pick<BenchReport, "version" | "runtime" | "date" | "cores"> {
  return {
    version: settings.version,
    runtime: `Deno ${Deno.version.deno}`,
    date: new Date().toISOString().slice(0, 10),
    cores: navigator.hardwareConcurrency,
  };
}

/** Writes the results to `dist/` as JSON and as a picture, or with `--page` into the documents. */
async function writeReport(report: BenchReport, isPage: boolean): Promise<void> {
  const root = new URL("../", import.meta.url);
  const write = async (path: string, text: string) => {
    await Deno.mkdir(new URL("./", new URL(path, root)), { recursive: true });
    await Deno.writeTextFile(new URL(path, root), text);
    console.log(`bench: wrote ${path}`);
  };
  await write("dist/bench.json", benchJson(report));
  await write("dist/bench.svg", benchPicture(report));
  if (!isPage) return;
  const [page, picture] = ["docs/speed.md", "docs/pictures/bench.svg"] as const;
  const former = await Deno.readTextFile(new URL(page, root));
  await write(page, withPart(former, "bench", benchPage(report, "pictures/bench.svg")));
  await write(picture, benchPicture(report));
  const format = new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", page, picture], cwd: root });
  if (!(await format.output()).success) throw new Error(`Cannot format ${page} and ${picture}`);
}
