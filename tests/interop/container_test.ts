import assert from "node:assert/strict";
import { inNamespace } from "../support/namespaces.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

// A container as docker makes it: a network with its own loopback, connected to the address of a bridge, and a
// hosts file with --add-host. The other namespace is the machine, which alone knows the target.

/** The arguments: the hosts files of both, and the command lines of the instance and of `postern env`. */
const harness = `
set -eu
machine_hosts=$1 container_hosts=$2 site=$3 python=$4 curl=$5; shift 5
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
ip link set lo up
mount --bind "$machine_hosts" /etc/hosts
unshare --net --mount sleep 120 & container=$!
until [ "$(readlink /proc/$container/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
ip link add bridge0 type veth peer name eth0 netns $container
ip address add 172.17.0.1/16 dev bridge0
ip link set bridge0 up
inside() { nsenter --target $container --net --mount "$@"; }
inside ip link set lo up
inside ip address add 172.17.0.2/16 dev eth0
inside ip link set eth0 up
inside mount --bind "$container_hosts" /etc/hosts
"$python" -m http.server 8000 --bind 127.0.0.1 --directory "$site" >/dev/null 2>&1 &
"$BASH" -c "$START" >/dev/null 2>&1 &
for port in 127.0.0.1/8000 172.17.0.1/12000; do
  until (: < /dev/tcp/$port) 2>/dev/null; do sleep 0.05; done
done
proxy() { "$python" -c 'import json, sys; print(json.load(sys.stdin)["proxies"]["default"]["httpProxy"])'; }
fetch() { inside env http_proxy="$1" "$curl" -s -m 20 -o /dev/stdout -w ' %{http_code}\\n' http://wiki.corp.example:8000/; }
fetch "$("$BASH" -c "$PRINT" | proxy)"
fetch http://host.docker.internal:12000
inside "$curl" -s -m 20 http://127.0.0.1:12000/ || echo "loopback: $?"
`;

const name = "postern env --for docker gives a container the variables that reach the listener on the bridge";
const namespace = inNamespace("--net --mount");
if ("missing" in namespace) skippedTest(name, namespace.missing);
else {
  peerTest(name, ["bash", "curl", "ip", "python"], async ({ bash, curl, python }) => {
    await using home = await Household.open();
    const config = await home.configure(`
listen:
  mixed: [127.0.0.1:12000, 172.17.0.1:12000]
  auth: { users: [{ name: me, passwordFile: listener-password }] }
default: direct
`);
    const at = (file: string) => `${home.directory}/${file}`;
    await Deno.mkdir(at("site"));
    await Deno.writeTextFile(at("site/index.html"), "hello from the company");
    await Deno.writeTextFile(`${home.places.config}/listener-password`, "s3cret/@", { mode: 0o600 });
    await Deno.writeTextFile(at("machine"), "127.0.0.1 localhost wiki.corp.example\n");
    await Deno.writeTextFile(at("container"), "127.0.0.1 localhost\n172.17.0.1 host.docker.internal\n");
    const shellLine = (args: readonly string[]) =>
      home.commandLine(args).command.map((word) => `'${word}'`).join(" ");
    const { env } = home.commandLine(["proxy"]);
    const [program = "", ...args] = [...namespace.wrap(), bash, "-c", harness, "harness"];
    const { code, stdout, stderr } = await runPeer(program, [
      ...args,
      ...[at("machine"), at("container"), at("site"), python, curl],
    ], {
      env: {
        ...env,
        START: `exec ${shellLine(["proxy"])}`,
        PRINT: shellLine(["env", "--config", config, "--for", "docker", "--with-credentials"]),
      },
    });
    assert.equal(code, 0, stderr);
    // curl exits with 7 if it cannot connect: the container has its own loopback.
    assert.match(stdout, /^hello from the company 200\n(?:.*\n)+ 407\nloopback: 7\n$/, stdout + stderr);
  });
}
