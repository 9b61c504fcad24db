import assert from "node:assert/strict";
import {
  masterArguments,
  type OpensshTarget,
  patienceOf,
  questionCommand,
  readOptions,
} from "../../../../src/ssh/openssh/openssh_arguments.ts";

const times = { keepalive: 3000, deadAfter: 6000, connectTimeout: 10_000 };
const usual = readOptions("ciphers chacha20,aes128-gcm@openssh.com,aes128-ctr\n");

/** The `-o` options for a master whose `ssh -G` prints these lines. */
function set(lines: string, target: OpensshTarget = { alias: "jump1" }): string[] {
  const args = masterArguments(target, { socket: "/run/s", options: readOptions(lines), usual, times });
  return args.filter((_, at) => args[at - 1] === "-o");
}

Deno.test("masterArguments() sets options that the configuration does not set", () => {
  const open = set("connecttimeout none\nserveraliveinterval 0\nstricthostkeychecking ask\n");
  for (const option of ["ConnectTimeout=10", "ServerAliveInterval=3", "ServerAliveCountMax=1"]) {
    assert.ok(open.includes(option), option);
  }
  assert.ok(open.includes("StrictHostKeyChecking=yes"));
  const given = set("connecttimeout 5\nserveraliveinterval 30\nstricthostkeychecking accept-new\n");
  assert.ok(!given.some((option) => /ConnectTimeout|ServerAlive|StrictHostKeyChecking/.test(option)));
});

Deno.test("masterArguments() never lets ssh ask, fork, run a command or open a port", () => {
  const options = set("forkafterauthentication yes\nremotecommand top\ntunnel point-to-point\n");
  for (
    const option of [
      "BatchMode=yes",
      "ClearAllForwardings=yes",
      "ControlPersist=no",
      "ForkAfterAuthentication=no",
      "PermitLocalCommand=no",
      "RemoteCommand=none",
      "Tunnel=no",
    ]
  ) assert.ok(options.includes(option), option);
  // An older ssh does not know these options, so they are not passed to it.
  assert.ok(!set("").some((option) => /ForkAfterAuthentication|RemoteCommand/.test(option)));
});

Deno.test("masterArguments() prefers AES-GCM unless the configuration sets ciphers", () => {
  const quick = "Ciphers=aes128-gcm@openssh.com,chacha20,aes128-ctr";
  assert.ok(set("ciphers chacha20,aes128-gcm@openssh.com,aes128-ctr\n").includes(quick));
  assert.ok(!set("ciphers aes128-ctr\n").some((option) => option.startsWith("Ciphers")));
});

Deno.test("masterArguments() passes the host in words that cannot be options", () => {
  const target = {
    alias: "jump1",
    user: "me",
    port: 2222,
    jumps: [{ user: "you", host: "a" }, { host: "::1", port: 22 }],
    config: "/c",
  };
  const whom = ["-F", "/c", "-l", "me", "-p", "2222", "-J", "you@a,[::1]:22"];
  assert.deepEqual(questionCommand(target), ["ssh", ...whom, "-G", "--", "jump1"]);
  const args = masterArguments(target, { socket: "/a%b/s", options: new Map(), usual, times });
  assert.deepEqual(args.slice(0, whom.length), whom);
  assert.deepEqual(args.slice(-2), ["--", "jump1"]);
  assert.equal(args[args.indexOf("-S") + 1], "/a%%b/s");
});

Deno.test("patienceOf() counts ConnectTimeout for each host on the path", () => {
  assert.equal(patienceOf(readOptions("connecttimeout none\n"), times), 10_000);
  assert.equal(patienceOf(readOptions("connecttimeout 2\nproxyjump a,b\n"), times), 6000);
  assert.equal(patienceOf(readOptions("connecttimeout 2\nproxycommand nc %h %p\n"), times), 4000);
});
