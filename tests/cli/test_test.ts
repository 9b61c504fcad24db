import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";

const cases = [
  {
    name: "reports that nothing is configured",
    config: "transports: { no: { reject: no } }\n",
    args: [],
    code: 0,
    stderr: /^postern: nothing to test: no ssh transport is configured, and no cluster is stored\n$/,
  },
  {
    name: "lists the transports when a pattern matches none",
    config: "transports: { near: { ssh: jump1.invalid } }\n",
    args: ["fa*"],
    code: 2,
    stderr:
      /Cannot test "fa\*": no ssh transport, host or cluster has this name\n.*use one of the transports near, /,
  },
  {
    name: "exits 4 for an invalid configuration",
    config: "default: nowhere\n",
    args: [],
    code: 4,
    stderr: /config\.yaml:1:10: default: names the unknown transport "nowhere"/,
  },
  {
    name: "rejects an invalid duration",
    config: "",
    args: ["--timeout", "soon"],
    code: 2,
    stderr: /"soon" is not a duration/,
  },
];
for (const { name, config, args, code, stderr } of cases) {
  Deno.test(`postern test ${name}`, async () => {
    await using home = await Household.open();
    await home.configure(config);
    const ended = await home.run(["test", ...args]);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, stderr);
    assert.equal(ended.stdout, "");
  });
}

Deno.test("postern test -o json prints zero counts without ssh transports and clusters", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  const { code, stdout } = await home.run(["test", "-o", "json"]);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), { counts: { ok: 0, failed: 0, skipped: 0 }, tests: [] });
});
