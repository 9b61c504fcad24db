import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { agentCommand, serverCommand } from "../support/konnectivity_commands.ts";
import { frontends, KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { konnectivityClient } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { echoServer } from "../support/target_server.ts";

const { signal } = new AbortController();
const mebibyte = 1024 * 1024;
const size = (isLongRun() ? 256 : 32) * mebibyte;
const piece = 64 * 1024;

for (const frontend of frontends.filter(({ isSocket }) => !isSocket)) {
  peerTest(
    `check 32: ${
      size / mebibyte
    } MiB in both directions at once arrive completely and are not buffered: ${frontend.name}`,
    [...konnectivityPeers, "sh"],
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      await using home = await Household.open();
      await using target = echoServer();
      const server = await serverCommand(home, lab, { more: [`--mode=${frontend.mode}`] });
      const agent = await agentCommand(home, lab, { agents: server.agents });
      await untilReady(server.health);
      /** The peak memory of the program. */
      const most = async ({ pid }: Instance) => {
        const { stdout } = await runPeer(paths.sh, ["-c", `cat /proc/${pid}/status`]);
        return Number(/^VmHWM:\s+([0-9]+) kB$/m.exec(stdout)?.[1] ?? assert.fail(stdout)) * 1024;
      };
      const programs = [server.program, agent.program];
      await using client = konnectivityClient(lab, frontend, { port: server.front });
      await using conn = await client.dial({ host: "127.0.0.1", port: target.port }, { signal });
      const before = await Promise.all(programs.map(most));

      const sent = createHash("sha256"), received = createHash("sha256");
      const pattern = patternBytes(mebibyte + piece);
      const sending = (async () => {
        for (let at = 0; at < size; at += piece) {
          const from = at / piece * 7919 % mebibyte;
          const bytes = pattern.subarray(from, from + piece);
          sent.update(bytes);
          await conn.write(bytes);
        }
        await conn.closeWrite();
      })();
      let count = 0;
      const receiving = (async () => {
        const into = new Uint8Array(piece);
        for (let got; count < size && (got = await conn.read(into)) !== null; count += got) {
          received.update(into.subarray(0, got));
        }
      })();
      await Promise.all([sending, receiving]);
      assert.equal(count, size);
      assert.equal(received.digest("hex"), sent.digest("hex"));
      const after = await Promise.all(programs.map(most));
      for (const [at, bytes] of after.entries()) {
        const grown = bytes - (before[at] ?? 0);
        assert.ok(grown < 150 * mebibyte, `${Math.round(grown / mebibyte)} MiB more than before`);
      }
    },
  );
}
