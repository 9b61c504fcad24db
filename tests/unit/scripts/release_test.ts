import assert from "node:assert/strict";
import { formulaOf } from "../../../scripts/formula.ts";
import { installerOf } from "../../../scripts/installers.ts";
import { projectUrl, readSums } from "../../../scripts/release_files.ts";

const release = { version: "1.2.3", project: "https://git.example.net/us/postern" };
const scripts = new URL("../../../scripts/", import.meta.url);

for (const name of ["install.sh", "install.ps1"]) {
  Deno.test(`installerOf() writes version and address into ${name}, and nothing else`, async () => {
    const text = await Deno.readTextFile(new URL(name, scripts));
    const made = installerOf(text, release);
    const releases = "https://git.example.net/us/postern/releases/download";
    assert.equal(made.replace("'1.2.3'", "''").replace(`'${releases}'`, "''"), text);
    // The script has no place for a second version.
    assert.throws(() => installerOf(made, release), /Cannot patch the install script/);
  });
}

Deno.test("installerOf() refuses a version or an address that is more than one word", async () => {
  const text = await Deno.readTextFile(new URL("install.sh", scripts));
  for (const version of ["", "1'2", "1 2", "$(id)"]) {
    assert.throws(() => installerOf(text, { ...release, version }), /as a version/);
  }
  for (
    const project of [
      "",
      "http://git.example.net/a/b",
      "https://git.example.net",
      "https://x/a'b",
      "https://x/#{1}",
    ]
  ) {
    assert.throws(() => projectUrl(project), /as the address of a project/);
    assert.throws(() => installerOf(text, { ...release, project }), /as the address of a project/);
  }
});

Deno.test("formulaOf() requires the checksum of every file", () => {
  assert.throws(
    () => formulaOf({ ...release, sums: new Map() }),
    /Cannot find the checksum of postern-1\.2\.3-macos-arm64/,
  );
});

Deno.test("readSums() reads the output of sha256sum in text and binary mode", () => {
  const [a, b] = ["a".repeat(64), "b".repeat(64)];
  assert.deepEqual([...readSums(`${a}  one\n${b} *two\n`)], [["one", a], ["two", b]]);
  for (const text of [`${a}`, `${a.toUpperCase()}  one\n`, "no checksum\n", `${a}  one two\n`]) {
    assert.throws(() => readSums(text), /Cannot read the checksum/);
  }
});
