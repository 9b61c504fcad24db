import assert from "node:assert/strict";
import { demandUsableChain, resolveChain } from "../../../../src/ssh/hops/ssh_chain.ts";
import type { SshHost } from "../../../../src/ssh/mod.ts";
import type { JumpSpec } from "../../../../src/ssh/config/ssh_host.ts";
import { sshHost } from "../../../support/ssh_host.ts";

const host = (alias: string, more: Partial<SshHost> = {}) =>
  sshHost(alias, { hostName: `${alias}.example`, ...more });

async function chain(alias: string, jumps: Record<string, string>): Promise<string> {
  const read = (name: string, asked: { user?: string; port?: number }) =>
    Promise.resolve(host(name, { ...asked, jumps: specs(jumps[name] ?? "") }));
  const hosts = await resolveChain(alias, read);
  return hosts.map(({ alias, user, port }) => `${user}@${alias}:${port}`).join(" ");
}

function specs(text: string): JumpSpec[] {
  return text.split(",").filter((part) => part !== "").map((part) => {
    const [, user, host = "", port] = /^(?:(.*)@)?([^:]*)(?::(.*))?$/.exec(part) ?? [];
    return { host, ...(user !== undefined && { user }), ...(port !== undefined && { port: Number(port) }) };
  });
}

const cases = [
  { name: "no jump host", alias: "a", jumps: {}, hosts: "me@a:22" },
  {
    name: "jump hosts of jump hosts",
    alias: "c",
    jumps: { c: "b", b: "a" },
    hosts: "me@a:22 me@b:22 me@c:22",
  },
  { name: "a list", alias: "d", jumps: { d: "a,b,c" }, hosts: "me@a:22 me@b:22 me@c:22 me@d:22" },
  { name: "users and ports", alias: "c", jumps: { c: "you@a:1,b:2" }, hosts: "you@a:1 me@b:2 me@c:22" },
  {
    name: "a list, whose first host alone follows its own configuration, as with ssh -J",
    alias: "c",
    jumps: { c: "a,b", b: "elsewhere", a: "before" },
    hosts: "me@before:22 me@a:22 me@b:22 me@c:22",
  },
];
for (const { name, alias, jumps, hosts } of cases) {
  Deno.test(`resolveChain() resolves ${name}`, async () => assert.equal(await chain(alias, jumps), hosts));
}

for (const jumps of [{ a: "a" }, { a: "b", b: "a" }, { a: "b,c", b: "a" }]) {
  Deno.test(`resolveChain() finds the loop in ${JSON.stringify(jumps)}`, async () => {
    await assert.rejects(chain("a", jumps), { code: "config", message: /form a loop: a via / });
  });
}

Deno.test("resolveChain() ends when each jump host has another one", async () => {
  const read = (name: string) => Promise.resolve(host(name, { jumps: [{ host: `x${name}` }] }));
  await assert.rejects(resolveChain("a", read), { code: "config" });
});

Deno.test("demandUsableChain() names the line that the built-in engine does not support", () => {
  const problem = {
    severity: "blocking",
    file: "/home/me/.ssh/config",
    line: 7,
    option: "KnownHostsCommand",
    message: "postern does not run it",
  } as const;
  demandUsableChain([host("a", { problems: [{ ...problem, severity: "note" }] })]);
  assert.throws(() => demandUsableChain([host("a"), host("b", { problems: [problem] })]), {
    code: "config",
    message: "Cannot use ssh b: /home/me/.ssh/config:7: KnownHostsCommand: postern does not run it",
    hint: "use engine: openssh for this host",
  });
});
