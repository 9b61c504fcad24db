import assert from "node:assert/strict";
import type { KubeCluster } from "../support/kube_cluster.ts";
import { lieutenantIn } from "../support/lieutenant.ts";
import type { Household } from "../support/postern_process.ts";
import { RoughLine } from "../support/rough_line.ts";
import { testTls } from "../support/tls_files.ts";
import { freezing, lineFaults, type LivePart, Replaceable, restarting } from "./live_parts.ts";

/**
 * The time limit for an update in ms, independent of the Lieutenant: two exchanges and the start of the
 * program.
 */
const updateWithin = 90_000;

const clusters = Array.from({ length: 40 }, (_, at) => ({
  id: `c-${at}`,
  tenant: "t-a",
  displayName: `Cluster ${at}`,
  facts: { jumphost: "one" },
  dynamicFacts: { openshiftBaseDomain: JSON.stringify(`c-${at}.example.net`) },
}));

/** The real Lieutenant in the world's cluster, and updates from it. */
export interface WorldLieutenant {
  /** The section `catalogues` of a configuration. */
  readonly catalogues: string;
  /** Fetches the catalogue and requires success. */
  readonly begin: (home: Household) => Promise<void>;
  readonly part: (home: Household) => LivePart;
}

export async function startLieutenant(
  { lieutenant }: { readonly lieutenant: string },
  started: AsyncDisposableStack,
  cluster: KubeCluster,
): Promise<WorldLieutenant> {
  const program = started.use(
    await Replaceable.start(await lieutenantIn(cluster, { lieutenant, clusters })),
  );
  const line = started.use(new RoughLine(() => program.current.port));
  const ca = `${cluster.directory}/lieutenant-ca.crt`;
  await Deno.writeTextFile(ca, testTls.ca);
  const catalogues = `catalogues: [{ lieutenant: "https://127.0.0.1:${line.port}", name: main, ca: ${ca} }]`;
  // A separate configuration, because a fault breaks the instance's file.
  const config = `${cluster.directory}/lieutenant.yaml`;
  await Deno.writeTextFile(config, `${catalogues}\n`);
  const update = (home: Household) => home.run(["update", "--config", config, "--token-file", "token"]);
  const faults = [
    ...lineFaults(line),
    freezing(() => program.current),
    restarting((lasts) => program.restart(lasts)),
  ];
  return {
    catalogues,
    async begin(home) {
      await Deno.writeTextFile(`${home.directory}/token`, `${cluster.token("admin")}\n`, { mode: 0o600 });
      const { code, stderr } = await update(home);
      assert.equal(code, 0, stderr);
      await isWhole(home, config);
    },
    // During a fault an update must end, with any result, and the stored catalogue must stay intact.
    part: (home) => ({
      name: "lieutenant",
      ways: [],
      kinds: faults.map(({ kind, lasts, run }) => ({
        kind,
        lasts,
        run: async (ms) => {
          const begun = performance.now();
          const updated = update(home).then(() => performance.now() - begun);
          await run(ms);
          const took = await updated;
          assert.ok(took < updateWithin, `an update took ${Math.round(took)} ms`);
          await isWhole(home, config);
        },
      })),
    }),
  };
}

/** Checks that the stored catalogue still has all clusters. */
async function isWhole(home: Household, config: string): Promise<void> {
  const { code, stdout, stderr } = await home.run(["clusters", "--config", config, "-o", "json"]);
  assert.equal(code, 0, stderr);
  const stored = JSON.parse(stdout) as { readonly clusters: readonly { readonly id: string }[] };
  assert.deepEqual(stored.clusters.map(({ id }) => id).sort(), clusters.map(({ id }) => id).sort());
}
