import assert from "node:assert/strict";
import { manualPages } from "../../scripts/man.ts";
import { peerTest } from "../support/peers.ts";

peerTest(
  "groff formats every page of the manual without warnings",
  ["groff"],
  async ({ groff }) => {
    for (const [name, page] of manualPages("2026-01-02")) {
      const { said, text } = await set(groff, page);
      assert.equal(said, "", name);
      assert.match(text, new RegExp(`^${name.toUpperCase()}\\(1\\)`), name);
      assert.match(text, /^ {7}postern\(1\)$|^ {7}postern-setup\(1\)/m, name);
    }
  },
);

/** The output for an ASCII terminal, and groff's warnings. */
async function set(groff: string, page: string): Promise<{ said: string; text: string }> {
  await using program = new Deno.Command(groff, {
    args: ["-man", "-Tascii", "-ww", "-rCHECKSTYLE=3", "-P-cbou", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = program.stdin.getWriter();
  await writer.write(new TextEncoder().encode(page));
  await writer.close();
  const { stdout, stderr } = await program.output();
  const decoder = new TextDecoder();
  return { said: decoder.decode(stderr), text: decoder.decode(stdout).trimStart() };
}
