import assert from "node:assert/strict";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { SshAgent, sshAgentPeers } from "../support/ssh_agent.ts";
import { SshTransports, type SshTransportsOptions } from "../support/ssh_transports.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import type { SshHost } from "../../src/ssh/mod.ts";

const signal = new AbortController().signal;
const peers = [...sshPeers, ...sshAgentPeers] as const;

async function signIn(
  lab: SshLab,
  sshd: Sshd,
  { more, ...options }: SshTransportsOptions & { more: Partial<SshHost> },
): Promise<void> {
  await using ssh = new SshTransports([lab.host(sshd, more)], options);
  await ssh.to("jump1").connect({ signal });
}

/**
 * A proxy for an agent that forwards the requests that a test allows, by message number (agent protocol,
 * 5.1).
 */
class AgentInstance implements AsyncDisposable {
  readonly path: string;
  /** The received requests. */
  readonly asked: number[] = [];
  readonly #listener: Deno.UnixListener;
  readonly #serving: Promise<void>;

  constructor(path: string, agent: string, passes: (request: number) => boolean) {
    this.path = path;
    this.#listener = Deno.listen({ transport: "unix", path });
    this.#serving = this.#serve(agent, passes);
  }

  async #serve(agent: string, passes: (request: number) => boolean): Promise<void> {
    const serving: Promise<void>[] = [];
    for await (const client of this.#listener) {
      serving.push(this.#relay(client, agent, passes).catch(() => {}).finally(() => client.close()));
    }
    await Promise.all(serving);
  }

  async #relay(client: Deno.Conn, agent: string, passes: (request: number) => boolean): Promise<void> {
    const bytes = new Uint8Array(64 * 1024);
    const count = await client.read(bytes) ?? 0;
    const request = bytes[4] ?? 0;
    this.asked.push(request);
    if (!passes(request)) return void await client.read(new Uint8Array(1));
    using there = await Deno.connect({ transport: "unix", path: agent });
    await there.write(bytes.subarray(0, count));
    const answered = await there.read(bytes) ?? 0;
    await client.write(bytes.subarray(0, answered));
    await client.read(new Uint8Array(1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#serving;
  }
}

const listing = 11;
const signing = 13;

peerTest("signInToSsh() works with an empty agent", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using agent = new SshAgent(`${lab.directory}/agent`, paths);
  // The agent is ready once it has accepted a key.
  await agent.add(lab.key);
  await runPeer(paths.ssh_add, ["-q", "-D"], { env: { SSH_AUTH_SOCK: agent.path } });
  await signIn(lab, sshd, { more: { identityAgent: agent.path } });
  await sshd.untilSignIns(1);
  await assert.rejects(signIn(lab, sshd, { more: { identityAgent: agent.path, identityFiles: [] } }), {
    code: "auth",
    message: /no key to offer/,
    hint: /add a key|ssh-copy-id/,
  });
});

peerTest("signInToSsh() tries other keys when an agent refuses to sign", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using agent = new SshAgent(`${lab.directory}/agent`, paths);
  const second = await lab.makeKey("second");
  await lab.accept("second");
  await agent.add(await lab.makeKey("stranger"));
  // Each use requires a confirmation, which no user gives here.
  await runPeer(paths.ssh_add, ["-q", "-c", lab.key], { env: { SSH_AUTH_SOCK: agent.path } });
  const settings = { identityAgent: agent.path, identityFiles: [second] };
  await signIn(lab, sshd, { more: settings });
  await sshd.untilSignIns(1);
  const only = { ...settings, identityFiles: [], password: false, kbdInteractive: false };
  await assert.rejects(signIn(lab, sshd, { more: only }), {
    code: "auth",
    message: /cannot use a key of the ssh agent at .*: the agent refused to sign/,
  });
});

peerTest(
  "an agent that hangs delays its host by two seconds at most, and other hosts not at all",
  peers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const [slow, quick] = [await lab.start("slow"), await lab.start("quick")];
    await using instance = new AgentInstance(`${lab.directory}/agent-proxy`, "", () => false);
    await using ssh = new SshTransports([lab.host(slow, { identityAgent: instance.path }), lab.host(quick)]);
    const startedAt = performance.now();
    const connecting = ssh.to("slow").connect({ signal });
    await ssh.to("quick").connect({ signal });
    assert.ok(performance.now() - startedAt < 1900);
    await connecting;
    const took = performance.now() - startedAt;
    assert.ok(took > 1900 && took < 5000, `${took} ms`);
    assert.deepEqual(instance.asked, [listing]);
  },
);

peerTest("the timeout error names an agent that never signs", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using agent = new SshAgent(`${lab.directory}/agent`, paths);
  await agent.add(lab.key);
  await using instance = new AgentInstance(
    `${lab.directory}/agent-proxy`,
    agent.path,
    (request) => request === listing,
  );
  const more = { identityAgent: instance.path, identityFiles: [], connectTimeout: 700 };
  const startedAt = performance.now();
  await assert.rejects(signIn(lab, sshd, { more }), {
    code: "timeout",
    message: /ssh jump1: no session within 0\.7 s, the last step: signs with user_ed25519 of the agent/,
  });
  assert.ok(performance.now() - startedAt < 3000);
  assert.deepEqual(instance.asked, [listing, signing]);
});

peerTest("each sign-in queries the agent again, and closes its socket", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  await using agent = new SshAgent(`${lab.directory}/agent`, paths);
  await agent.add(lab.key);
  await using instance = new AgentInstance(`${lab.directory}/agent-proxy`, agent.path, () => true);
  const more = { identityAgent: instance.path, identityFiles: [] };
  for (let times = 1; times <= 3; times++) {
    await signIn(lab, sshd, { more });
    assert.deepEqual(instance.asked, Array(times).fill([listing, signing]).flat());
  }
});

peerTest("an agent that dies during a request counts as no agent", peers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const second = await lab.makeKey("second");
  await lab.accept("second");
  const path = `${lab.directory}/agent`;
  using listener = Deno.listen({ transport: "unix", path });
  const serving = (async () => {
    for (const bytes of [[0, 0, 0, 50, 12, 0, 0], []]) {
      using client = await listener.accept();
      await client.read(new Uint8Array(100));
      await client.write(Uint8Array.from(bytes));
    }
  })();
  await signIn(lab, sshd, { more: { identityAgent: path, identityFiles: [second] } });
  await signIn(lab, sshd, { more: { identityAgent: path, identityFiles: [second] } });
  await serving;
  await sshd.untilSignIns(2);
});
