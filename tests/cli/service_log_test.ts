import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";
import { peerTest } from "../support/peers.ts";

/** Replaces journalctl: not every machine has a journal. */
const reader = '#!/bin/sh\necho "$@"; echo "a line of the journal"; exit 4\n';

/** Writes the unit file of the service. */
async function writeUnit(home: Household, text: string): Promise<void> {
  const directory = `${home.directory}/config/systemd/user`;
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(`${directory}/postern.service`, text);
}

peerTest("postern logs prints the journal of an installed service", ["sh"], async (_peers, t) => {
  await using home = await Household.open();
  const bin = `${home.directory}/bin`;
  await Deno.mkdir(bin);
  await Deno.writeTextFile(`${bin}/journalctl`, reader, { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/bin:/bin` };

  await t.step("postern ignores a unit that it did not write", async () => {
    await writeUnit(home, "[Service]\nExecStart=/opt/postern proxy\n");
    const { code, stderr } = await home.run(["logs"], { env });
    assert.equal(code, 3, stderr);
    assert.match(stderr, /does not exist/);
  });
  await writeUnit(home, "# Written by postern service-install\n");
  const words = "--user --unit=postern.service --output=cat --no-pager";
  for (const [option, more] of [[[], ""], [["--follow"], " --follow --lines=all"]] as const) {
    await t.step(`postern prints the command and returns its exit code: ${option}`, async () => {
      const { code, stdout, stderr } = await home.run(["logs", ...option], { env });
      assert.equal(stderr, `postern: journalctl ${words}${more}\n`);
      assert.equal(stdout, `${words}${more}\na line of the journal\n`);
      assert.equal(code, 4);
    });
  }
  await t.step("the service is only the default instance", async () => {
    const { code, stderr } = await home.run(["logs", "work"], { env });
    assert.equal(code, 3, stderr);
  });
  await t.step("the error names a missing journalctl", async () => {
    const { code, stderr } = await home.run(["logs"], { env: { PATH: home.directory } });
    assert.deepEqual([code, stderr.split("\n").slice(1)], [127, [
      'postern: error: Cannot run "journalctl": no such program',
      "postern: hint: install it, or give its whole path",
      "",
    ]]);
  });
});
