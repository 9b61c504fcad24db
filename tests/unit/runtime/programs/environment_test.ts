import assert from "node:assert/strict";
import { runPeer } from "../../../support/peer_program.ts";

interface Seen {
  readonly ours: readonly (string | null)[];
  readonly theirs: readonly string[];
  readonly node: readonly string[];
  readonly child: string;
}

const cases = [
  { name: "all of it", flags: ["--allow-env"], names: "any", ours: ["1", "2", null], theirs: [], node: [] },
  {
    name: "these names of a list",
    flags: ["--allow-env=ONE,NONE"],
    names: ["ONE", "NONE"],
    ours: ["1", "NotCapable", null],
    theirs: [],
    node: [],
  },
  {
    name: "these names of all, as in a compiled client",
    flags: ["--allow-env"],
    names: ["ONE", "NONE"],
    ours: ["1", "NotCapable", null],
    theirs: [],
    node: [],
  },
];
for (const { name, flags, names, ...seen } of cases) {
  Deno.test(`hideEnvironment() keeps ${name}, and hides it from packages`, async () => {
    assert.deepEqual(await look(flags, names), { ...seen, child: "1 2\n" });
  });
}

Deno.test("hideEnvironment() does not change a list of names when all are requested", async () => {
  const { ours, theirs } = await look(["--allow-env=ONE,NONE"], "any");
  assert.deepEqual(ours, ["1", "NotCapable", null]);
  assert.deepEqual(theirs, ["ONE"]);
});

/** What each reader sees of ONE=1, TWO=2 and an unset NONE: we, Deno.env, node's process, a program. */
async function look(flags: readonly string[], names: unknown): Promise<Seen> {
  const module = new URL("../../../../src/runtime/programs/environment.ts", import.meta.url).href;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    file,
    `import { copyEnvironment, hideEnvironment, variable } from "${module}";
    copyEnvironment(${JSON.stringify(names)});
    hideEnvironment();
    const tried = (read) => { try { return read() ?? null; } catch (error) { return error.name; } };
    const all = ["ONE", "TWO", "NONE"];
    const { stdout } = await new Deno.Command("sh", { args: ["-c", "echo $ONE $TWO"] }).output();
    console.log(JSON.stringify({
      ours: all.map((name) => tried(() => variable(name))),
      theirs: all.filter((name) => /^\\\\d$/.test(tried(() => Deno.env.get(name)))),
      node: all.filter((name) => /^\\\\d$/.test(tried(() => process.env[name]))),
      child: new TextDecoder().decode(stdout),
    }));`.replaceAll("\\\\d", "\\d"),
  );
  const args = [
    "run",
    "--quiet",
    "--no-check",
    "--no-prompt",
    "--no-config",
    "--allow-run=sh",
    ...flags,
    file,
  ];
  const { code, stdout, stderr } = await runPeer(Deno.execPath(), args, { env: { ONE: "1", TWO: "2" } });
  await Deno.remove(file);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}
