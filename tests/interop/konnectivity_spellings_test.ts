import assert from "node:assert/strict";
import { agentCommand, serverCommand } from "../support/konnectivity_commands.ts";
import { KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const frontend = { mode: "grpc", isSocket: false } as const;
const meansLoopback = ["127.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0.0.0.0", "0"];

peerTest(
  "a Konnectivity server sends its agent an address in canonical form, and rejects an invalid one",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using household = await Household.open();
    const [port, server] = await Promise.all([lab.page(), serverCommand(household, lab)]);
    // Go itself resolves none of these spellings.
    await lab.goAgent(server);
    await untilReady(server.health);
    for (const host of meansLoopback) {
      const { said } = await fetched(lab, { port: server.front }, host, port);
      assert.match(said, /success test page/, host);
    }
    const { said } = await fetched(lab, { port: server.front }, "127.0.0.256", port);
    assert.match(said, /"127\.0\.0\.256:[0-9]+" as HOST:PORT: the host ends in a number/);
    const { cert, key } = lab.pair("frontend", "client");
    const { stdout, stderr } = await household.run([
      ...["konnectivity", "dial", "--proxy-host=127.0.0.1", `--proxy-port=${server.front}`],
      ...[`--ca-cert=${lab.ca("frontend")}`, `--client-cert=${cert}`, `--client-key=${key}`],
      `http://0x7f.1:${port}/success`,
    ]);
    assert.match(stdout, /success test page/, stderr);
  },
);

peerTest(
  "a Konnectivity agent understands every spelling of an address for its allow list and dials",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using household = await Household.open();
    const [port, server] = await Promise.all([lab.page(), lab.goServer(frontend)]);
    const { agents } = server;
    const agent = await agentCommand(household, lab, { agents, more: ["--allow-target=127.0.0.0/8"] });
    await untilReady(server.health);
    for (const host of meansLoopback) {
      assert.match((await fetched(lab, server.front, host, port)).said, /success test page/, host);
    }
    assert.match((await fetched(lab, server.front, "127.0.0.256", port)).said, /the host ends in a number/);
    await agent.program.says(/target=127\.0\.0\.1:/);
    assert.doesNotMatch(agent.program.stderr, /target=(?!127\.0\.0\.1:|0\.0\.0\.0:)/);
  },
);

/** Fetches the page of a port with Go's client. */
async function fetched(
  lab: KonnectivityLab,
  front: { readonly port: number } | { readonly path: string },
  host: string,
  port: number,
): Promise<{ said: string }> {
  return await lab.goClient(frontend, front, { port, more: [`--request-host=${host}`] });
}
