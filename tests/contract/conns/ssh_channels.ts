import assert from "node:assert/strict";
import { MemorySsh } from "../../support/ssh_server.ts";
import { type ConnKind, type Pair, swapped } from "../conn_contract.ts";

const { signal } = new AbortController();

export function sshChannels(): readonly ConnKind[] {
  const channel = async (): Promise<Pair> => {
    const ssh = await MemorySsh.open();
    const near = await ssh.session.connect({ host: "target.example", port: 1 }, { signal });
    return { near, far: ssh.far[0] ?? assert.fail("no channel"), close: () => ssh[Symbol.asyncDispose]() };
  };
  return [
    { name: "SshChannel", of: "SshChannel", madeBy: ["src/ssh/session/ssh_channels.ts"], open: channel },
    {
      name: "the server's end of an ssh channel",
      of: "ServerChannel",
      madeBy: ["src/demo/jump_host.ts", "tests/support/ssh_server.ts"],
      open: () => swapped(channel()),
    },
  ];
}
