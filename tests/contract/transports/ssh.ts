import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { SshServices } from "../../../src/ssh/mod.ts";
import { sshHost } from "../../support/ssh_host.ts";
import { memoryCipher, MemorySshServer } from "../../support/ssh_server.ts";
import { sharesSessions, sum, type TransportSetting, type TransportTried } from "../transport_contract.ts";
import { Surroundings } from "./surroundings.ts";

export function ssh(): TransportTried {
  return {
    name: "ssh (built-in engine)",
    kind: "ssh",
    of: "Ssh",
    // ssh2's server reports only that a connection failed.
    codes: { refused: "unreachable", unknown: "unreachable" },
    open: async () => {
      const all = new Surroundings();
      let asksSilent = false;
      const server = await MemorySshServer.start({
        onChannel: (target) => {
          if (target.startsWith("silent.")) asksSilent = true;
          return target.endsWith(":7") ? "accept" : asksSilent ? "ignore" : "refuse";
        },
      });
      all.files.put("/known_hosts", `192.0.2.100 ${server.publicKey}\n`);
      const listening = all.network.listen({ host: "192.0.2.100", port: 22 });
      const serving = (async () => {
        for (let conn = await listening.accept(); conn; conn = await listening.accept()) {
          await server.take(conn);
        }
      })();
      all.after(async () => {
        listening.close();
        await serving;
        await server[Symbol.asyncDispose]();
      });
      const host = sshHost("far", {
        hostName: "192.0.2.100",
        ciphers: [memoryCipher],
        userKnownHostsFiles: ["/known_hosts"],
      });
      const { network, clock, log, files } = all;
      let accepted = 0;
      const setting: TransportSetting = all.build({ it: { kind: "ssh", settings: "far" } }, {
        ssh: new SshServices({
          ...{ network, clock, log, files },
          reading: () => ({ read: () => Promise.resolve(host), [Symbol.dispose]() {} }),
        }),
        accept: async () => {
          while (server.far.length <= accepted) await nextTurn();
          return server.far[accepted++] ?? assert.fail();
        },
        open: () => sum(setting.transport.status?.().hops?.map(({ channels }) => channels)),
        dialing: async () => {
          while (!asksSilent) await nextTurn();
        },
        cut: () => listening.close(),
      });
      return setting;
    },
    cannot: sharesSessions,
  };
}
