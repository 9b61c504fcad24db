import assert from "node:assert/strict";
import { parse } from "yaml";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly needs?: string | readonly string[];
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const directory = new URL("../../../.github/workflows/", import.meta.url);

async function workflow(name: string): Promise<{ readonly text: string; readonly value: Workflow }> {
  const text = await Deno.readTextFile(new URL(name, directory));
  return { text, value: parse(text) as Workflow };
}

for await (const { name } of Deno.readDir(directory)) {
  Deno.test(`${name} pins its actions by commit and leaves no credentials in the checkout`, async () => {
    const { text, value } = await workflow(name);
    const used = text.split("\n").filter((line) => /^\s*(?:- )?uses:/.test(line));
    assert.ok(used.length > 0);
    for (const line of used) {
      assert.match(line, /^\s*(?:- )?uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
    for (const { permissions = {}, steps, "timeout-minutes": minutes } of Object.values(value.jobs)) {
      assert.ok(minutes !== undefined);
      const isCheckedOut = steps.some(({ uses }) => uses?.startsWith("actions/checkout@"));
      // Packages run in this job, so it must not have write permission.
      if (isCheckedOut) assert.ok(Object.values(permissions).every((right) => right === "read"));
      for (const { uses, with: options } of steps) {
        if (uses?.startsWith("actions/checkout@")) assert.equal(options?.["persist-credentials"], false);
      }
    }
    assert.ok(Object.values(value.permissions).every((right) => right === "read"));
  });
}

Deno.test("release.yml builds, attests and publishes in separate jobs, each with minimal permissions", async () => {
  const { value: { permissions, jobs } } = await workflow("release.yml");
  assert.deepEqual(permissions, {});
  const rights = Object.entries(jobs).map(([name, job]) => [name, job.permissions]);
  assert.deepEqual(Object.fromEntries(rights), {
    build: { contents: "read" },
    attest: { "id-token": "write", attestations: "write" },
    publish: { contents: "write" },
  });
  for (const name of ["attest", "publish"]) {
    const runs = jobs[name]?.steps.flatMap(({ run }) => run === undefined ? [] : [run]) ?? [];
    // Jobs with write permission run no code of the project or its packages.
    for (const run of runs) assert.match(run, /^(?:test "\$\(sha256sum|gh release create )/);
    assert.equal(jobs[name]?.steps.some(({ uses }) => uses?.startsWith("actions/checkout@")), false);
  }
  assert.deepEqual(jobs["publish"]?.needs, ["build", "attest"]);
});

Deno.test("install.sh and install.ps1 require an attestation of release.yml", async () => {
  const scripts = new URL("../../../scripts/", import.meta.url);
  for (const name of ["install.sh", "install.ps1"]) {
    const text = await Deno.readTextFile(new URL(name, scripts));
    assert.match(text, /\$repository\/\.github\/workflows\/release\.yml/);
  }
});
