import assert from "node:assert/strict";
import type { Needs } from "../../../src/world/mod.ts";
import type { NeedsTable } from "../../../src/runtime/permissions.ts";
import { runPeer } from "../../support/peer_program.ts";

const table: NeedsTable = {
  ssh: { run: ["/bin/sh", "cat"], write: ["/ssh", "/agent"] },
  plugins: ["true", "false"],
  resolver: ["/resolver"],
  runsMore: false,
};
const nothing: Needs = { ssh: false, plugins: [], resolver: false };
const listed = [
  "--allow-run=/bin/sh,cat,true,false,id",
  "--allow-write=/ssh,/agent,/resolver,/own",
  "--allow-net",
  "--allow-read",
];
const open = ["--allow-run", "--allow-write", "--allow-net", "--allow-read"];

interface Left {
  readonly run: readonly string[];
  readonly write: readonly string[];
  readonly kinds: readonly string[];
}

const cases: readonly {
  readonly name: string;
  readonly flags: readonly string[];
  readonly needs: Needs | "nothing";
  readonly table?: Partial<NeedsTable>;
  readonly left: Left;
}[] = [
  {
    name: "everything that is listed",
    flags: listed,
    needs: { ssh: true, plugins: "any", resolver: true },
    left: {
      run: ["/bin/sh", "cat", "true", "false", "id"],
      write: ["/ssh", "/agent", "/resolver", "/own"],
      kinds: ["net", "read"],
    },
  },
  {
    name: "ssh without sign-in programs and the resolver",
    flags: listed,
    needs: { ...nothing, ssh: true },
    left: { run: ["/bin/sh", "cat", "id"], write: ["/ssh", "/agent", "/own"], kinds: ["net", "read"] },
  },
  {
    name: "one sign-in program, named by its path, without ssh",
    flags: listed,
    needs: { ...nothing, plugins: ["/somewhere/true"] },
    left: { run: ["true", "id"], write: ["/own"], kinds: ["net", "read"] },
  },
  {
    name: "a shell that signs in, without ssh",
    flags: listed,
    needs: { ...nothing, plugins: ["sh"] },
    left: { run: ["/bin/sh", "id"], write: ["/own"], kinds: ["net", "read"] },
  },
  {
    name: "no program when nothing needs one",
    flags: listed,
    needs: nothing,
    left: { run: [], write: ["/own"], kinds: ["net", "read"] },
  },
  {
    name: "the command's other programs",
    flags: listed,
    needs: nothing,
    table: { runsMore: true },
    left: { run: ["id"], write: ["/own"], kinds: ["net", "read"] },
  },
  {
    name: "compiled: only whole kinds are given up",
    flags: open,
    needs: nothing,
    left: { run: [], write: ["/ssh", "/agent", "/resolver", "/own"], kinds: ["net", "read", "write"] },
  },
  {
    name: "compiled: every program stays when one is needed",
    flags: open,
    needs: { ...nothing, plugins: ["true"] },
    left: {
      run: ["/bin/sh", "cat", "true", "false", "id"],
      write: ["/ssh", "/agent", "/resolver", "/own"],
      kinds: ["net", "read", "write", "run"],
    },
  },
  { name: "nothing", flags: listed, needs: "nothing", left: { run: [], write: [], kinds: [] } },
  { name: "nothing, compiled", flags: open, needs: "nothing", left: { run: [], write: [], kinds: [] } },
];
for (const { name, flags, needs, table: other, left } of cases) {
  Deno.test(`Rights.keepOnly() leaves ${name}`, async () => {
    const seen = await inProcess<Left>(
      flags,
      { ...table, ...other },
      `rights.keepOnly(${JSON.stringify(needs)});
      print({
        run: ["/bin/sh", "cat", "true", "false", "id"].filter((command) => has({ name: "run", command })),
        write: ["/ssh", "/agent", "/resolver", "/own"].filter((path) => has({ name: "write", path })),
        kinds: ["net", "read", "write", "env", "run"].filter((name) => has({ name })),
      });`,
    );
    assert.deepEqual(seen, left);
  });
}

const lost = [
  { flags: listed, kept: nothing, asked: { ...nothing, ssh: true }, missing: "ssh" },
  { flags: listed, kept: nothing, asked: { ...nothing, plugins: ["false"] }, missing: "false" },
  { flags: listed, kept: nothing, asked: nothing },
  { flags: listed, kept: { ...nothing, ssh: true }, asked: { ...nothing, ssh: true } },
  { flags: listed, kept: { ...nothing, plugins: ["true"] }, asked: { ...nothing, plugins: ["true"] } },
  // Only the process itself can tell why a program without permission fails.
  { flags: listed, kept: { ...nothing, ssh: true }, asked: { ...nothing, plugins: ["never-listed"] } },
  { flags: open, kept: nothing, asked: { ...nothing, ssh: true }, missing: "ssh" },
  { flags: open, kept: nothing, asked: { ...nothing, plugins: ["never-listed"] }, missing: "never-listed" },
  { flags: listed, kept: nothing, asked: { ...nothing, plugins: ["never-listed"] }, missing: "never-listed" },
  // Deno still has what it did not give up.
  {
    flags: open,
    kept: { ...nothing, plugins: ["true"] },
    asked: { ...nothing, ssh: true, plugins: ["false"] },
  },
];
for (const { flags, kept, asked, missing } of lost) {
  const name = `of ${JSON.stringify(asked)} after ${JSON.stringify(kept)}${
    flags === open ? ", compiled" : ""
  }`;
  Deno.test(`Rights.missing() is ${missing} ${name}`, async () => {
    const seen = await inProcess<readonly unknown[]>(
      flags,
      table,
      `rights.keepOnly(${JSON.stringify(kept)});
      print([rights.missing(${JSON.stringify(asked)})]);`,
    );
    assert.deepEqual(seen, [missing ?? null]);
  });
}

/** Runs a piece of a program with these permissions and returns its output. */
async function inProcess<T>(flags: readonly string[], table: NeedsTable, program: string): Promise<T> {
  const module = new URL("../../../src/runtime/permissions.ts", import.meta.url).href;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    file,
    `import { Rights } from "${module}";
    const has = (of) => Deno.permissions.querySync(of).state === "granted";
    const print = (value) => console.log(JSON.stringify(value));
    const rights = new Rights(${JSON.stringify(table)});
    ${program}`,
  );
  const args = ["run", "--quiet", "--no-check", "--no-prompt", "--no-config", ...flags, file];
  const { code, stdout, stderr } = await runPeer(Deno.execPath(), args);
  await Deno.remove(file);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}
