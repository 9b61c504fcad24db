import assert from "node:assert/strict";
import { missingFlag } from "../../../src/runtime/permissions.ts";

const cases: readonly { name: string; attempt: () => unknown; flag: string }[] = [
  { name: "a file", attempt: () => Deno.readTextFileSync("anything"), flag: "--allow-read" },
  { name: "a change", attempt: () => Deno.removeSync("anything"), flag: "--allow-write" },
  { name: "a variable", attempt: () => Deno.env.get("ANYTHING"), flag: "--allow-env=ANYTHING" },
  { name: "the user", attempt: () => Deno.uid(), flag: "--allow-sys=uid" },
  { name: "a program", attempt: () => new Deno.Command("sh").spawn(), flag: "--allow-run" },
  { name: "a socket", attempt: () => Deno.listen({ hostname: "127.0.0.1", port: 0 }), flag: "--allow-net" },
];
for (const { name, attempt, flag } of cases) {
  Deno.test({
    name: `missingFlag() returns the flag for ${name}`,
    permissions: "none",
    fn: () => assert.throws(attempt, (error) => missingFlag(error) === flag),
  });
}

Deno.test("missingFlag() returns undefined for other failures", () => {
  assert.equal(missingFlag(new Deno.errors.NotFound("gone")), undefined);
  assert.equal(missingFlag("text"), undefined);
});

const permissions = new URL("../../../src/runtime/permissions.ts", import.meta.url);

Deno.test("keepOnly() permanently gives up the other kinds", async () => {
  const program = `
    const { keepOnly } = await import("${permissions}");
    keepOnly(["env"]);
    const kinds = ["read", "write", "net", "env", "sys", "run", "ffi"];
    console.log(kinds.filter((name) => Deno.permissions.querySync({ name }).state === "granted").join());`;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", program] }).output();
  assert.equal(new TextDecoder().decode(stdout), "env\n");
});
