import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";

const cases = [
  {
    name: "has nothing to do without ssh transports",
    config: "transports: { no: { reject: no } }\n",
    args: [],
    code: 0,
    stderr: /^postern: the configuration has no ssh transport, and no cluster is known\n$/,
  },
  {
    name: "names the transports when a pattern fits none",
    config: "transports: { near: { ssh: jump1.invalid } }\n",
    args: ["fa*"],
    code: 2,
    stderr:
      /Cannot test "fa\*": no ssh transport, host or cluster has this name\n.*use one of the transports near, /,
  },
  {
    name: "answers 4 for a configuration that is wrong",
    config: "default: nowhere\n",
    args: [],
    code: 4,
    stderr: /config\.yaml:1:10: default: names "nowhere", which is no transport/,
  },
  {
    name: "wants a duration",
    config: "",
    args: ["--timeout", "soon"],
    code: 2,
    stderr: /"soon" is no duration/,
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

Deno.test("postern test -o json counts nothing without ssh transports and clusters too", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  const { code, stdout } = await home.run(["test", "-o", "json"]);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), { counts: { ok: 0, failed: 0, skipped: 0 }, tests: [] });
});
