import assert from "node:assert/strict";
import type { Question } from "../../src/world/mod.ts";
import type { Prompt } from "../../src/ssh/sign_in/ssh_auth.ts";
import type { SshHost } from "../../src/ssh/mod.ts";
import { inNamespace } from "../support/namespaces.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import { SshTransports } from "../support/ssh_transports.ts";
import { type Sshd, SshLab, sshPeers } from "../support/sshd.ts";

const signal = new AbortController().signal;

/** The only password in this test's user database, in crypt(5) format. */
const password = "right words";
const hash =
  "$6$labsalt$CdR9jcUGICABR34K5lqiXENbn51.q5qxGL9jbDNWx4DhKGWCOP7hVevY46pbALee24rYeb5QClxLEoH2aCs5X.";

/** A path that the guest can read: the lab's own directory is closed. */
const keys = "/etc/pam.d/authorized_keys";

/** Registers a test with an sshd that has its own user database and passwords. */
function passwordTest(
  name: string,
  config: readonly string[],
  test: (lab: SshLab, sshd: Sshd) => Promise<void>,
): void {
  const namespace = inNamespace("--mount");
  if ("missing" in namespace) return skippedTest(name, namespace.missing);
  peerTest(name, sshPeers, async (paths) => {
    await using lab = await SshLab.create(paths);
    const { directory } = lab;
    await Deno.writeTextFile(`${directory}/passwd`, "guest:x:61234:61234::/:/bin/sh\n");
    await Deno.writeTextFile(`${directory}/shadow`, `guest:${hash}:19000:0:99999:7:::\n`);
    await Deno.writeTextFile(
      `${directory}/pam`,
      "auth required pam_unix.so nodelay\naccount required pam_permit.so\nsession required pam_permit.so\n",
    );
    const under = namespace.wrap(
      `cat /etc/passwd >>${directory}/passwd && mount --bind ${directory}/passwd /etc/passwd && ` +
        `mount --bind ${directory}/shadow /etc/shadow && ` +
        `mkdir -p /etc/pam.d && mount -t tmpfs none /etc/pam.d && cp ${directory}/pam /etc/pam.d/sshd && cp ${directory}/authorized_keys ${keys}`,
    );
    await test(lab, await lab.start("jump1", { config: [`AuthorizedKeysFile ${keys}`, ...config], under }));
  });
}

/** A simulated user with these answers, and the questions that were asked. */
function person(...answers: readonly (string | undefined)[]): { prompt: Prompt; asked: Question[] } {
  const asked: Question[] = [];
  return { asked, prompt: (question) => Promise.resolve(answers[asked.push(question) - 1]) };
}

/** Signs in with these answers; returns the error, if there is one, and the log. */
async function signIn(
  lab: SshLab,
  sshd: Sshd,
  { prompt, more = {} }: { prompt?: Prompt; more?: Partial<SshHost> },
): Promise<{ error: unknown; logged: string }> {
  const host = lab.host(sshd, { user: "guest", identityFiles: [], ...more });
  await using ssh = new SshTransports([host], prompt ? { prompt } : {});
  const error = await ssh.to("jump1").connect({ signal }).then(() => undefined, (error) => error);
  return { error, logged: JSON.stringify(ssh.log.lines) };
}

const secretOf = (question: Question) => !question.echo;

passwordTest(
  "signInToSsh() asks for a password until it is right, and never shows it",
  ["UsePAM no", "KbdInteractiveAuthentication no"],
  async (lab, sshd) => {
    const right = person(password);
    assert.equal((await signIn(lab, sshd, right)).error, undefined);
    assert.deepEqual(right.asked, [{ text: "Password of guest at ssh jump1: ", echo: false }]);
    const second = person("wrong words", password);
    assert.equal((await signIn(lab, sshd, second)).error, undefined);
    assert.equal(second.asked.length, 2);
    await sshd.untilSignIns(2);
    const wrong = person("wrong words", "worse words", "worst words", password);
    const { error, logged } = await signIn(lab, sshd, wrong);
    assert.equal(wrong.asked.length, 3);
    assert.ok(error instanceof Error);
    assert.equal("code" in error && error.code, "auth");
    assert.match(
      error.message,
      /Cannot sign in to ssh jump1 as guest: the server accepts .*password.*refused a password/,
    );
    assert.doesNotMatch(`${error.stack} ${logged}`, /(right|wrong|worse|worst) words/);
  },
);

passwordTest(
  "signInToSsh() asks no more after a missing answer, or without a prompt",
  ["UsePAM no", "KbdInteractiveAuthentication no"],
  async (lab, sshd) => {
    const silent = person(undefined, password);
    const { error } = await signIn(lab, sshd, silent);
    assert.equal("code" in (error as object) && (error as { code: string }).code, "auth");
    assert.equal(silent.asked.length, 1);
    const { error: alone } = await signIn(lab, sshd, {});
    assert.match(
      (alone as { hint: string }).hint,
      /use a key instead of answering questions: ssh-copy-id jump1/,
    );
    const batch = person(password);
    const { error: never } = await signIn(lab, sshd, {
      ...batch,
      more: { password: false, kbdInteractive: false },
    });
    assert.equal((never as { code: string }).code, "auth");
    assert.deepEqual(batch.asked, []);
    assert.equal(sshd.signIns, 0);
  },
);

passwordTest(
  "signInToSsh() answers keyboard-interactive requests",
  ["UsePAM yes", "PasswordAuthentication no"],
  async (lab, sshd) => {
    const right = person(password);
    assert.equal((await signIn(lab, sshd, right)).error, undefined);
    assert.deepEqual(right.asked, [{ text: "(guest at ssh jump1) Password: ", echo: false }]);
    const second = person("wrong words", password);
    assert.equal((await signIn(lab, sshd, second)).error, undefined);
    assert.ok(second.asked.length === 2 && second.asked.every(secretOf));
    await sshd.untilSignIns(2);
    assert.match(sshd.log, /Accepted keyboard-interactive\/pam for guest/);
    const silent = person(undefined, password);
    assert.equal(((await signIn(lab, sshd, silent)).error as { code: string }).code, "auth");
    assert.equal(silent.asked.length, 1);
    const wrong = person(...Array(9).fill("wrong words"));
    const { error, logged } = await signIn(lab, sshd, wrong);
    assert.equal((error as { code: string }).code, "auth");
    assert.equal(wrong.asked.length, 3);
    assert.doesNotMatch(`${(error as Error).stack} ${logged}`, /(right|wrong) words/);
  },
);

passwordTest(
  "signInToSsh() tries methods in the order of PreferredAuthentications, keys first by default",
  ["UsePAM yes", "PasswordAuthentication yes"],
  async (lab, sshd) => {
    const key = { identityFiles: [lab.key] };
    const none = person(password);
    assert.equal((await signIn(lab, sshd, { ...none, more: key })).error, undefined);
    assert.equal(none.asked.length, 0);
    const byPassword = { preferredAuthentications: ["gssapi-with-mic", "password", "publickey"], ...key };
    const asked = person(password);
    assert.equal((await signIn(lab, sshd, { ...asked, more: byPassword })).error, undefined);
    assert.deepEqual(asked.asked.map(({ text }) => text), ["Password of guest at ssh jump1: "]);
    await sshd.untilSignIns(2);
    assert.match(sshd.log, /Accepted publickey for guest[^]*Accepted password for guest/);
  },
);

passwordTest(
  "signInToSsh() sends a key and then a password when a server requires both",
  ["UsePAM no", "AuthenticationMethods publickey,password"],
  async (lab, sshd) => {
    const both = person(password);
    assert.equal((await signIn(lab, sshd, { ...both, more: { identityFiles: [lab.key] } })).error, undefined);
    assert.equal(both.asked.length, 1);
    const { error } = await signIn(lab, sshd, person(password));
    assert.equal((error as { code: string }).code, "auth");
  },
);
