import assert from "node:assert/strict";
import { inNamespace } from "../support/namespaces.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

/** The unchanged examples from the README of apiserver-network-proxy 0.36.0. */
const examples = [
  {
    name: "gRPC over mTLS",
    server:
      "./bin/proxy-server --server-ca-cert=certs/frontend/issued/ca.crt --server-cert=certs/frontend/issued/proxy-frontend.crt --server-key=certs/frontend/private/proxy-frontend.key --cluster-ca-cert=certs/agent/issued/ca.crt --cluster-cert=certs/agent/issued/proxy-frontend.crt --cluster-key=certs/agent/private/proxy-frontend.key",
    clients: [
      "./bin/proxy-test-client --ca-cert=certs/frontend/issued/ca.crt --client-cert=certs/frontend/issued/proxy-client.crt --client-key=certs/frontend/private/proxy-client.key",
    ],
  },
  {
    name: "gRPC over a socket",
    server:
      "./bin/proxy-server --server-port=0 --uds-name=/tmp/uds-proxy --cluster-ca-cert=certs/agent/issued/ca.crt --cluster-cert=certs/agent/issued/proxy-frontend.crt --cluster-key=certs/agent/private/proxy-frontend.key",
    clients: ['./bin/proxy-test-client --proxy-port=0 --proxy-uds=/tmp/uds-proxy --proxy-host=""'],
  },
  {
    name: "HTTP CONNECT over mTLS, and curl",
    server:
      "./bin/proxy-server --mode=http-connect --server-ca-cert=certs/frontend/issued/ca.crt --server-cert=certs/frontend/issued/proxy-frontend.crt --server-key=certs/frontend/private/proxy-frontend.key --cluster-ca-cert=certs/agent/issued/ca.crt --cluster-cert=certs/agent/issued/proxy-frontend.crt --cluster-key=certs/agent/private/proxy-frontend.key",
    clients: [
      "./bin/proxy-test-client --mode=http-connect  --proxy-host=127.0.0.1 --ca-cert=certs/frontend/issued/ca.crt --client-cert=certs/frontend/issued/proxy-client.crt --client-key=certs/frontend/private/proxy-client.key",
      "curl -v -p --proxy-key certs/frontend/private/proxy-client.key --proxy-cert certs/frontend/issued/proxy-client.crt --proxy-cacert certs/frontend/issued/ca.crt --proxy-cert-type PEM -x https://127.0.0.1:8090  http://localhost:8000/success",
    ],
  },
];
const agent =
  "./bin/proxy-agent --ca-cert=certs/agent/issued/ca.crt --agent-cert=certs/agent/issued/proxy-agent.crt --agent-key=certs/agent/private/proxy-agent.key";

/** Installs postern under the names of the Kubernetes programs in the README. */
async function makePrograms(home: Household, testServer: string): Promise<void> {
  const bin = `${home.directory}/bin`;
  await Deno.mkdir(bin);
  const forms = { "proxy-server": "server", "proxy-agent": "agent", "proxy-test-client": "dial" };
  for (const [name, form] of Object.entries(forms)) {
    // From source, postern may use the directory of a socket in its arguments.
    const { command } = home.commandLine(["konnectivity", form, "--uds-name=/tmp/uds-proxy"]);
    const words = command.slice(0, -1).map((word) => `'${word}'`).join(" ");
    await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  }
  await Deno.writeTextFile(`${bin}/http-test-server`, `#!/bin/sh\nexec '${testServer}' "$@"\n`, {
    mode: 0o755,
  });
}

/** A script that starts each service in the background, and then the clients. */
function script({ server, clients }: typeof examples[number]): string {
  return `set -u
./bin/http-test-server >test-server.log 2>&1 & page=$!
${server} >server.log 2>&1 & server=$!
until=$((SECONDS + 120))
# Do not wait for a process that has ended.
alive() { for pid; do kill -0 "$pid" 2>/dev/null || return 1; done; }
answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$1")" = 200 ]; }
ready() { until answers "$1" || ! alive "\${@:2}" || [ $SECONDS -gt $until ]; do read -rt 0.1 <> <(:) || :; done; }
ready http://127.0.0.1:8092/healthz $server
${agent} >agent.log 2>&1 & agent=$!
ready http://127.0.0.1:8092/readyz $server $agent
ready http://localhost:8000/success $page
${clients.map((line) => `${line} || echo "failed: $?"; echo; echo "-- next"`).join("\n")}
curl -s -o /dev/null -w 'agent %{http_code}\\n' http://127.0.0.1:8093/readyz
curl -s -o /dev/null -w 'admin %{http_code}\\n' http://127.0.0.1:8095/metrics
curl -s -o /dev/null -w 'moved %{http_code}\\n' http://127.0.0.1:8094/metrics
kill $agent; wait $agent; echo "agent ended: $?"
kill $server; wait $server; echo "server ended: $?"
kill $page
cat server.log agent.log >&2
`;
}

for (const example of examples) {
  const name = `upstream's README, unchanged: ${example.name}`;
  const namespace = inNamespace("--net");
  if ("missing" in namespace) {
    skippedTest(name, namespace.missing);
    continue;
  }
  peerTest(
    name,
    ["bash", "curl", "ip", "konn_test_server"],
    async ({ bash, ip, konn_test_server: testServer }) => {
      await using home = await Household.open();
      // Replaces upstream's "make certs".
      const made = await home.run(["konnectivity", "certs", `${home.directory}/certs`]);
      assert.equal(made.code, 0, made.stderr);
      await makePrograms(home, testServer);
      const [program = "", ...before] = namespace.wrap(`${ip} link set lo up`);
      const { env } = home.commandLine([]);
      const file = `${home.directory}/example.sh`;
      await Deno.writeTextFile(file, script(example));
      const { stdout, stderr } = await runPeer(program, [...before, bash, file], {
        env,
        cwd: home.directory,
      });
      const [outputs, rest = ""] = [stdout.split("-- next\n"), stdout.split("-- next\n").at(-1)];
      for (const at of example.clients.keys()) {
        assert.match(outputs[at] ?? "", /success test page/, stdout + stderr);
      }
      assert.doesNotMatch(stdout, /^failed:/m, stderr);
      assert.equal(rest, "agent 200\nadmin 200\nmoved 301\nagent ended: 0\nserver ended: 0\n", stderr);
    },
  );
}
