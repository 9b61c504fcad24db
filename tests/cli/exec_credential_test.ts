import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { atTerminal } from "../support/pseudo_terminal.ts";

Deno.test("postern exec-credential reports what is missing and prints no credential", async (t) => {
  await using home = await Household.open();
  const info = (spec: unknown) => ({
    KUBERNETES_EXEC_INFO: JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      spec,
    }),
  });
  await Deno.writeTextFile(`${home.directory}/empty`, "\n");
  const cases = [
    { name: "no cluster", args: [], code: 2, says: /Cannot sign in to a cluster: missing option: --server/ },
    { name: "a client that names none", args: [], env: info({}), code: 2, says: /missing option: --server/ },
    {
      name: "nonsense",
      args: [],
      env: { KUBERNETES_EXEC_INFO: "s3cret" },
      code: 4,
      says: /not an ExecCredential/,
    },
    {
      name: "a server without TLS",
      args: ["--server", "http://api.example.net"],
      code: 2,
      says: /begins with https:/,
    },
    {
      name: "an empty token",
      args: ["--server", "https://api.example.net", "--token-file", `${home.directory}/empty`],
      code: 4,
      says: /it is empty/,
    },
    {
      name: "a missing instance",
      args: [],
      env: info({ cluster: { server: "https://api.example.net", "proxy-url": "socks5://127.0.0.1:1" } }),
      code: 6,
      says:
        /Cannot reach the proxy "instance" \(127\.0\.0\.1:1\).*\n.*hint: start an instance: postern proxy --background/,
    },
  ];
  for (const { name, args, env = {}, code, says } of cases) {
    await t.step(name, async () => {
      const ended = await home.run(["exec-credential", ...args], { env });
      assert.match(ended.stderr, says);
      assert.deepEqual([ended.code, ended.stdout], [code, ""]);
      assert.doesNotMatch(ended.stderr, /s3cret/);
    });
  }
});

peerTest(
  "postern exec-credential prints a token to a terminal only with --show",
  ["python"],
  async ({ python }) => {
    await using home = await Household.open();
    const { command, env } = home.commandLine(["exec-credential", "--server", "https://api.example.net"]);
    const { screen, code } = await atTerminal(python, command, { steps: [], env });
    assert.match(
      screen,
      /Cannot print a token to a terminal: missing option: --show\r?\npostern: hint: .* add --show/,
    );
    assert.equal(code, 2);
  },
);
