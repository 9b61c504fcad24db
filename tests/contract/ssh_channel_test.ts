import assert from "node:assert/strict";
import { MemorySsh } from "../support/ssh_server.ts";
import { connContract } from "./conn_contract.ts";

connContract("SshChannel", async () => {
  const ssh = await MemorySsh.open();
  const signal = new AbortController().signal;
  const near = await ssh.session.connect({ host: "target.example", port: 1 }, { signal });
  const far = ssh.far[0] ?? assert.fail("no channel");
  return { near, far, close: () => ssh[Symbol.asyncDispose]() };
});
