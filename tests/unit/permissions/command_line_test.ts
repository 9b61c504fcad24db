import assert from "node:assert/strict";
import { isDependedOn } from "../../../src/permissions/command_grants.ts";
import { parsedWords, readCommandLine, valueOf, wantsTraces } from "../../../src/permissions/command_line.ts";

const commands = [
  { args: [], command: "help" },
  { args: ["--help"], command: "help" },
  { args: ["--version"], command: "version" },
  { args: ["proxy", "--version"], command: "proxy" },
  { args: ["--config", "status", "proxy"], command: "proxy" },
  { args: ["--config=status", "proxy"], command: "proxy" },
  { args: ["-v", "-v", "explain", "stop"], command: "explain" },
  { args: ["--log-level", "debug", "stop"], command: "stop" },
  { args: ["--log-format", "json", "stop"], command: "stop" },
  { args: ["porxy"], command: "help" },
  { args: ["constructor"], command: "help" },
  { args: ["mapping.json"], command: "proxy" },
  { args: ["mapping.json", "--background"], command: "help" },
  { args: ["connect"], command: "connect" },
  { args: ["connect", "--socks"], command: "connect" },
  { args: ["connect", "--socks-listen", "127.0.0.1:1080", "--socks"], command: "connect" },
  { args: ["connect", "db.example.net:5432"], command: "nc" },
  { args: ["connect", "-w", "5", "db.example.net", "22"], command: "nc" },
  { args: ["clusters", "c-a"], command: "clusters" },
  { args: ["clusters", "list", "shell"], command: "clusters" },
  { args: ["clusters", "c-a", "c-b", "kubectl"], command: "clusters" },
  { args: ["clusters", "c-a", "--selector", "kubectl"], command: "clusters" },
  { args: ["clusters", "--", "c-a", "kubectl"], command: "clusters" },
  { args: ["--config", "x", "clusters", "c-a", "kubectl", "get", "ns"], command: "kubectl" },
  { args: ["clusters", "-l", "a=b", "c-a", "shell"], command: "shell" },
  { args: ["clusters", "shell", "kubeconfig"], command: "kubeconfig" },
  { args: ["clusters", "c-a", "console"], command: "console" },
  { args: ["clusters", "--each", "--", "true"], command: "shell" },
  { args: ["clusters", "c-a", "kubectl", "--each"], command: "kubectl" },
];
for (const { args, command } of commands) {
  Deno.test(`readCommandLine() finds ${command} in "${args.join(" ")}"`, () => {
    assert.equal(readCommandLine(args).command, command);
  });
}

const parts: readonly (readonly [line: string, own: string, rest: string])[] = [
  ["--config status reload -v", "--config status -v", ""],
  ["--log-level debug --help", "--log-level debug --help", ""],
  ["shell lab -- helm list", "lab", "helm list"],
  ["-v kubectl --id work lab get --id x", "-v --id work lab", "get --id x"],
  ["kubectl lab -- get", "lab", "-- get"],
  ["clusters lab --id work oc whoami -v", "lab --id work oc", "whoami -v"],
  ["clusters --each lab kubectl get", "--each lab kubectl get", ""],
  ["completion bash --config", "bash", "--config"],
  ["-v kubelogin get-token -v", "", "-v get-token -v"],
  ["-v corp.json", "-v --mapping-file corp.json", ""],
];
for (const [line, own, rest] of parts) {
  Deno.test(`readCommandLine() splits the words of "${line}"`, () => {
    const read = readCommandLine(line.split(" "));
    const ownWords = own.split(" ").filter(Boolean);
    assert.deepEqual([read.own, read.rest], [ownWords, rest.split(" ").filter(Boolean)]);
    assert.deepEqual(parsedWords(read), rest === "" ? ownWords : [...ownWords, "--", ...rest.split(" ")]);
  });
}

const configs = [
  { args: ["proxy"], config: undefined },
  { args: ["proxy", "--config", "a.yaml"], config: "a.yaml" },
  { args: ["--config=a=b.yaml", "proxy"], config: "a=b.yaml" },
  { args: ["proxy", "--config"], config: undefined },
  { args: ["proxy", "--config", "a", "--config", "b"], config: undefined },
  { args: ["explain", "--id", "--config", "a.example"], config: undefined },
  { args: ["explain", "--", "--config", "a.example"], config: undefined },
  { args: ["proxy", "--kubernetes", "--config", "a"], config: "a" },
  { args: ["status", "-vo", "json", "--config", "a"], config: "a" },
  { args: ["kubectl", "lab", "--config", "a"], config: undefined },
  { args: ["completion", "bash", "--config", "a"], config: undefined },
];
for (const { args, config } of configs) {
  Deno.test(`valueOf() returns configuration ${config} in "${args.join(" ")}"`, () => {
    assert.equal(valueOf(readCommandLine(args), "--config"), config);
  });
}

Deno.test("isDependedOn() is true for all spellings of proxy, and for programs in a cluster", () => {
  const lines = ["proxy", "proxy-out", "mapping.json", "konnectivity server", "clusters a shell", "oc a get"];
  const is = (line: string) => isDependedOn(readCommandLine(line.split(" ")).command);
  for (const line of lines) assert.ok(is(line), line);
  for (const line of ["status", "stop proxy", "--version", "update", "clusters a console"]) {
    assert.ok(!is(line), line);
  }
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
  ["clusters lab shell tool --log-level debug", true],
  ["clusters lab shell -- tool --log-level debug", false],
  ["completion bash --log-level debug", false],
];
for (const [args, wants] of traced) {
  Deno.test(`wantsTraces() is ${wants} for: ${args}`, () => {
    assert.equal(wantsTraces(readCommandLine(args.split(" "))), wants);
  });
}
