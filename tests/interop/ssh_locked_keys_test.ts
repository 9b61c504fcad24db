import assert from "node:assert/strict";
import type { Question } from "../../src/world/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { createWorld } from "../../src/runtime/mod.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import type { Prompt } from "../../src/ssh/sign_in/ssh_auth.ts";
import { HostKeys } from "../../src/ssh/host_keys/host_keys.ts";
import { openSshSession } from "../../src/ssh/session/open_ssh_session.ts";
import { sshPrompt } from "../../src/ssh/sign_in/ssh_prompt.ts";
import { UnlockedKeys } from "../../src/ssh/keys/unlocked_keys.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { recordingLog } from "../support/recording_log.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";
import { TargetServer } from "../support/target_server.ts";

const signal = new AbortController().signal;

const keysOnly = { password: false, kbdInteractive: false };

/** A simulated user with these answers, and the questions that were asked. */
function person(...answers: readonly (string | undefined)[]): { prompt: Prompt; asked: Question[] } {
  const asked: Question[] = [];
  return { asked, prompt: (question) => Promise.resolve(answers[asked.push(question) - 1]) };
}

peerTest(
  "signInToSsh() asks for a passphrase three times, and not after an empty answer",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const locked = await lab.makeKey("locked", { passphrase: "right words" });
    await lab.accept("locked");
    const cases = [
      { answers: ["right words"], asked: 1, isIn: true },
      { answers: ["wrong words", "worse words", "right words"], asked: 3, isIn: true },
      { answers: ["wrong words", "worse words", "worst words", "right words"], asked: 3, isIn: false },
      { answers: ["wrong words", ""], asked: 2, isIn: false },
      { answers: [undefined, "right words"], asked: 1, isIn: false },
    ];
    for (const { answers, asked, isIn } of cases) {
      const { prompt, asked: questions } = person(...answers);
      await using ssh = new SshTransports([lab.host(sshd, { ...keysOnly, identityFiles: [locked] })], {
        prompt,
      });
      const error = await ssh.to("jump1").connect({ signal }).then(() => undefined, (error) => error);
      assert.equal(questions.length, asked);
      assert.equal(error === undefined, isIn);
      if (isIn) continue;
      assert.equal(error.code, "auth");
      assert.equal(error.hint, `add the key to the agent: ssh-add ${locked}`);
      assert.doesNotMatch(
        `${error.stack}${JSON.stringify(ssh.log.lines)}`,
        /(right|wrong|worse|worst) words/,
      );
    }
  },
);

peerTest(
  "signInToSsh() asks for the passphrase of a key without a readable public part",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const more = ["-m", "PEM"];
    const locked = await lab.makeKey("locked", { type: "rsa", passphrase: "right words", more });
    await lab.accept("locked");
    await Deno.remove(`${locked}.pub`);
    const settings = { ...keysOnly, identityFiles: [locked] };
    const { prompt, asked } = person("right words");
    await using ssh = new SshTransports([lab.host(sshd, settings)], { prompt });
    await ssh.to("jump1").connect({ signal });
    assert.equal(asked.length, 1);
    await using alone = new SshTransports([lab.host(sshd, settings)]);
    await assert.rejects(alone.to("jump1").connect({ signal }), {
      code: "auth",
      hint: `add the key to the agent: ssh-add ${locked}`,
    });
  },
);

peerTest("signInToSsh() asks only for keys that the server accepts", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const stranger = await lab.makeKey("stranger", { passphrase: "some words" });
  const { prompt, asked } = person();
  await using ssh = new SshTransports([lab.host(sshd, { identityFiles: [stranger, lab.key] })], { prompt });
  await ssh.to("jump1").connect({ signal });
  assert.deepEqual(asked, []);
});

peerTest("signInToSsh() asks for a certificate's key too", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const authority = await lab.makeKey("authority");
  const sshd = await lab.start("jump1", { config: [`TrustedUserCAKeys ${authority}.pub`] });
  const key = await lab.makeKey("certified", { passphrase: "right words" });
  await lab.keygen("-q", "-s", authority, "-I", "me", "-n", lab.user, `${key}.pub`);
  const { prompt, asked } = person("right words");
  await using ssh = new SshTransports([lab.host(sshd, { identityFiles: [key] })], { prompt });
  await ssh.to("jump1").connect({ signal });
  assert.equal(asked.length, 1);
  assert.match(sshd.log, /Accepted publickey .*-CERT/i);
});

peerTest("a sign-in gets the passphrase from SSH_ASKPASS", sshPeers, async (paths) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const locked = await lab.makeKey("locked", { passphrase: "right words" });
  await lab.accept("locked");
  const script = `${lab.directory}/askpass`;
  const { process } = createWorld({ main: import.meta.url, flags: [] });
  for (const [answer, isIn] of [["echo right words", true], ["echo right words; exit 1", false]] as const) {
    await Deno.writeTextFile(script, `printf "%s\\n" "$1" >>${script}.asked\n${answer}\n`);
    const prompt = sshPrompt({
      terminal: {
        isInput: false,
        isErrorOutput: true,
        ask: () => Promise.reject(new Error("no terminal")),
      },
      process: {
        env: (name) => ({ SSH_ASKPASS: script, SSH_ASKPASS_REQUIRE: "force" })[name],
        // The tests may start only the programs that they know.
        run: (command, options) => process.run([paths.sh, ...command], options),
      },
      log: recordingLog(),
    });
    assert.ok(prompt);
    await using ssh = new SshTransports([lab.host(sshd, { ...keysOnly, identityFiles: [locked] })], {
      prompt,
    });
    const connected = ssh.to("jump1").connect({ signal });
    if (isIn) await connected;
    else {await assert.rejects(connected, {
        code: "auth",
        hint: `add the key to the agent: ssh-add ${locked}`,
      });}
  }
  assert.equal(
    await createFiles(systemClock).readText(`${script}.asked`),
    `Passphrase of ${locked}: \n`.repeat(2),
  );
});

peerTest(
  "a session that ends withdraws its prompt, and asks again later",
  sshPeers,
  async (
    paths,
  ) => {
    await using lab = await SshLab.create(paths);
    const sshd = await lab.start("jump1");
    const locked = await lab.makeKey("locked", { passphrase: "right words" });
    await lab.accept("locked");
    await using target = new TargetServer(async () => {});
    const asked: AbortSignal[] = [];
    const host = lab.host(sshd, { ...keysOnly, identityFiles: [locked] });
    await using ssh = new SshTransports([host], {
      prompt: async (_question, { signal }) => {
        asked.push(signal);
        if (asked.length === 1) {
          const { promise, reject } = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          await Promise.all([sshd.signalSessions("KILL"), promise]);
        }
        return "right words";
      },
    });
    const conn = await ssh.to("jump1").dial({ host: "127.0.0.1", port: target.port }, { signal });
    conn.abort();
    assert.deepEqual(asked.map(({ aborted }) => aborted), [true, false]);
    await sshd.untilSignIns(1);
  },
);

peerTest("after a canceled prompt, postern asks again only when a client needs the host", sshPeers, async (
  paths,
) => {
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const locked = await lab.makeKey("locked", { passphrase: "right words" });
  await lab.accept("locked");
  const { prompt, asked } = person("right words", undefined, "right words");
  await using ssh = new SshTransports([lab.host(sshd, { ...keysOnly, identityFiles: [locked] })], { prompt });
  const transport = ssh.to("jump1");
  await using target = new TargetServer(async () => {});
  const to = { host: "127.0.0.1", port: target.port };
  (await transport.dial(to, { signal })).abort();
  // Without this, the opened key would be used again.
  ssh.services.renew();
  await sshd.signalSessions("KILL");
  // The session was in use, so the hop reconnects and asks; the user cancels.
  await eventually(
    "the prompt was canceled",
    () => asked.length === 2 && transport.status().state === "failing",
  );
  // Longer than the first pause before a retry.
  await new Promise((resolve) => setTimeout(resolve, 800));
  assert.equal(asked.length, 2);
  (await transport.dial(to, { signal })).abort();
  assert.equal(asked.length, 3);
});

peerTest(
  "an opened key stays open for other hosts and later sessions, until a reload",
  sshPeers,
  async (paths) => {
    await using lab = await SshLab.create(paths);
    const [a, b] = [await lab.start("a"), await lab.start("b")];
    const locked = await lab.makeKey("locked", { passphrase: "right words" });
    await lab.accept("locked");
    const [network, files, clock, log] = [
      createNetwork(),
      createFiles(systemClock),
      systemClock,
      recordingLog(),
    ];
    const unlocked = new UnlockedKeys();
    let asked = 0;
    const ask = async () => {
      asked++;
      // Long enough for the other host to queue its question.
      await new Promise((resolve) => setTimeout(resolve, 300));
      return "right words";
    };
    const prompt = sshPrompt({
      terminal: { isInput: true, isErrorOutput: true, ask },
      process: { env: () => undefined, run: () => Promise.reject(new Error("no program")) },
      log,
    });
    assert.ok(prompt);
    const hostKeys = new HostKeys({ files, clock, log });
    const deps = { network, clock, files, hostKeys, prompt, unlocked, keepalive: 3000, deadAfter: 6000 };
    const signInOnce = async (server: Sshd) => {
      const host = lab.host(server, { ...keysOnly, identityFiles: [locked] });
      const conn = await network.connect({ host: host.hostName, port: host.port }, { signal });
      await using _session = await openSshSession(conn, host, { deps, signal });
    };
    await Promise.all([signInOnce(a), signInOnce(b)]);
    assert.equal(asked, 1);
    await signInOnce(a);
    assert.equal(asked, 1);
    unlocked.forget();
    await signInOnce(a);
    assert.equal(asked, 2);
    await a.untilSignIns(3);
    await b.untilSignIns(1);
    // A new key at the same path is a different key.
    await Deno.remove(locked);
    await lab.makeKey("locked", { passphrase: "right words" });
    await lab.accept("locked");
    await signInOnce(b);
    assert.equal(asked, 3);
  },
);
