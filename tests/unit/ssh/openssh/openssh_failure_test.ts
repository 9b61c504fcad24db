import assert from "node:assert/strict";
import { lossFailure, signInFailure } from "../../../../src/ssh/openssh/openssh_failure.ts";

const changed = `@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@
The fingerprint for the ED25519 key sent by the remote host is
SHA256:abc.
Offending ED25519 key in /home/me/.ssh/known_hosts:3
Host key for jump1 has changed and you have requested strict checking.
Host key verification failed.
`;

const cases = [
  {
    says: "me@jump1: Permission denied (publickey).\r\n",
    code: "auth",
    line: /^Cannot sign in to ssh jump1: me@/,
  },
  {
    says: changed,
    code: "auth",
    line:
      /^Cannot trust the host key of ssh host "jump1": the server shows SHA256:abc; Offending .*known_hosts:3$/,
  },
  {
    says: "ssh: connect to host h port 22: Connection refused\n",
    code: "unreachable",
    line: /: Connection refused$/,
  },
  {
    says: "ssh: connect to host h port 22: Connection timed out\n",
    code: "timeout",
    line: /: Connection timed out$/,
  },
  {
    says: "ssh: Could not resolve hostname h: Name or service not known\n",
    code: "unreachable",
    line: /Name or service not known$/,
  },
  {
    says: "channel 0: open failed: administratively prohibited: open failed\nstdio forwarding failed\n" +
      "Connection closed by UNKNOWN port 65535\n",
    code: "unreachable",
    line: /administratively prohibited: open failed$/,
  },
  {
    says:
      "you@hop: Permission denied (publickey).\nkex_exchange_identification: Connection closed by remote host\n" +
      "Connection closed by UNKNOWN port 65535\n",
    code: "auth",
    line: /you@hop: Permission denied/,
  },
  {
    says: "/c: line 3: Bad configuration option: oops\n/c: terminating, 1 bad configuration options\n",
    code: "config",
    line: /^Cannot use ssh jump1: /,
  },
  {
    says: "Unable to negotiate with h port 22: no matching cipher found. Their offer: x\n",
    code: "protocol",
    line: /no matching cipher/,
  },
  { says: "", code: "unreachable", line: /ssh exited with code 255$/ },
] as const;
for (const { says, code, line } of cases) {
  Deno.test(`signInFailure() reads "${says.slice(0, 60).trim()}"`, () => {
    const error = signInFailure("jump1", { code: 255, stderr: says });
    assert.equal(error.code, code);
    assert.match(error.message, line);
    assert.notEqual(error.hint, undefined);
  });
}

Deno.test("signInFailure() reports a missing program", () => {
  const error = signInFailure("jump1", { code: 127, stderr: "sh: 1: exec: ssh: not found\n" });
  assert.equal(error.code, "config");
  assert.match(error.hint ?? "", /install OpenSSH/);
});

Deno.test("signInFailure() escapes terminal sequences", () => {
  const { message } = signInFailure("jump1", { code: 255, stderr: "\u001b[2Jhello\n" });
  assert.equal(message, "Cannot reach ssh jump1: ?[2Jhello");
});

Deno.test("lossFailure() reports the error line, not a banner", () => {
  const loss = (stderr: string) => lossFailure("jump1", { code: 255, stderr });
  const silent = loss("Welcome!\nTimeout, server h not responding.\n");
  assert.deepEqual([silent.code, silent.message], [
    "timeout",
    "Cannot keep the session with ssh jump1: Timeout, server h not responding.",
  ]);
  assert.equal(
    loss("Welcome!\n").message,
    "Cannot keep the session with ssh jump1: ssh exited with code 255",
  );
  assert.match(loss("Connection to h closed by remote host.\n").message, /closed by remote host/);
});
