import assert from "node:assert/strict";
import { commandOf, configNamed, isDependedOn, wantsTraces } from "../../../src/permissions/command_line.ts";

const commandLines = [
  { args: [], command: "help" },
  { args: ["--help"], command: "help" },
  { args: ["--version"], command: "version" },
  { args: ["proxy", "--version"], command: "proxy" },
  { args: ["--config", "status", "proxy"], command: "proxy" },
  { args: ["--config=status", "proxy"], command: "proxy" },
  { args: ["-v", "-v", "explain", "stop"], command: "explain" },
  { args: ["--log-level", "debug", "stop"], command: "stop" },
  { args: ["porxy"], command: "help" },
  { args: ["clusters", "c-a"], command: "clusters" },
  { args: ["--config", "x", "clusters", "c-a", "kubectl", "get", "ns"], command: "shell" },
  { args: ["clusters", "--each", "--", "true"], command: "shell" },
  { args: ["constructor"], command: "help" },
  { args: ["mapping.json"], command: "proxy" },
];

for (const { args, command } of commandLines) {
  Deno.test(`commandOf() finds ${command} in "${args.join(" ")}"`, () => {
    assert.equal(commandOf(args), command);
  });
}

Deno.test("isDependedOn() is so for every spelling of a door, and for what runs behind one", () => {
  const lines = ["proxy", "proxy-out", "mapping.json", "konnectivity server", "clusters a shell", "oc a get"];
  for (const line of lines) assert.ok(isDependedOn(line.split(" ")), line);
  for (const line of ["status", "stop proxy", "--version", "update"]) {
    assert.ok(!isDependedOn(line.split(" ")), line);
  }
});

Deno.test("configNamed() finds the file in both spellings", () => {
  assert.equal(configNamed(["proxy", "--config", "a.yaml"]), "a.yaml");
  assert.equal(configNamed(["--config=a=b.yaml", "proxy"]), "a=b.yaml");
  assert.equal(configNamed(["proxy"]), undefined);
});

const traced: readonly (readonly [args: string, wants: boolean])[] = [
  ["--log-level debug status", true],
  ["status --log-level=debug", true],
  ["status --log-level info", false],
  ["status", false],
  ["--log-level debug kubectl lab get pods", true],
  ["kubectl lab get pods --log-level debug", false],
  ["clusters lab kubectl get --log-level=debug", false],
  ["clusters --each -- tool --log-level debug", false],
  ["--log-level=debug clusters lab shell", true],
];

for (const [args, wants] of traced) {
  Deno.test(`wantsTraces() ${wants ? "hears" : "leaves to others"}: ${args}`, () => {
    assert.equal(wantsTraces(args.split(" ")), wants);
  });
}
