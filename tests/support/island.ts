import assert from "node:assert/strict";
import { foundPeersVariable } from "../../scripts/peer_table.ts";
import { inNamespace } from "./namespaces.ts";
import { runPeer } from "./peer_program.ts";
import { peerTest, skippedTest } from "./peers.ts";
import { denoDirectory } from "./postern_process.ts";

/** The argument that marks the tests on the island. */
const mark = "on-the-island";

/** Another machine of the island's network, which its hosts file names. */
export const neighbor = { name: "neighbor", address: "192.168.77.9" };

/** The variables for tests of real programs. */
const passed = [foundPeersVariable, "POSTERN_BIN", "POSTERN_LONG", "PATH", "HOME", "TMPDIR"];

/**
 * Runs the tests of a file on an island: a network namespace in which every address is this machine, so that
 * all of postern's outgoing traffic arrives here. The system's resolver queries 127.0.0.1, and the hosts file
 * has `localhost` and a neighbor. Outside of the island the whole file is one test.
 */
export function islandTests(name: string, url: string, register: () => void): void {
  if (Deno.args.includes(mark)) return register();
  const namespace = inNamespace("--net --mount");
  if ("missing" in namespace) return skippedTest(name, namespace.missing);
  peerTest(name, ["bash", "ip"], async ({ ip }) => {
    const directory = await Deno.makeTempDir({ prefix: "island-" });
    try {
      await Deno.writeTextFile(`${directory}/resolv.conf`, "nameserver 127.0.0.1\n");
      await Deno.writeTextFile(
        `${directory}/hosts`,
        `127.0.0.1 localhost\n::1 localhost\n${neighbor.address} ${neighbor.name}\n`,
      );
      const [program = "", ...under] = namespace.wrap([
        "set -e",
        `${ip} link set lo up`,
        `${ip} address add 192.168.77.5/24 dev lo`,
        `${ip} route add local default dev lo`,
        // Some machines do not have IPv6.
        `${ip} -6 route add local default dev lo || true`,
        ...["resolv.conf", "hosts"].map((file) => `mount --bind ${directory}/${file} /etc/${file}`),
      ].join("; "));
      const flags = ["net", "read", "write", "run", "env", "sys"].map((kind) => `--allow-${kind}`);
      const args = [
        "test",
        "--no-prompt",
        "--quiet",
        "--no-check",
        ...flags,
        new URL(url).pathname,
        "--",
        mark,
      ];
      const { code, stdout, stderr } = await runPeer(program, [...under, Deno.execPath(), ...args], {
        env: { ...await environment(), NO_COLOR: "1" },
      });
      assert.equal(code, 0, `${stdout}\n${stderr}`);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

async function environment(): Promise<Record<string, string>> {
  const found: Record<string, string> = { DENO_DIR: await denoDirectory() };
  for (const variable of passed) {
    const value = Deno.env.get(variable);
    if (value !== undefined) found[variable] = value;
  }
  return found;
}
