import type { EndedProgram } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { causeLines } from "../sign_in/foreign_text.ts";

/** Explains a failed sign-in of the ssh program from its last output lines. */
export function signInFailure(alias: string, { code, stderr }: EndedProgram): PosternError {
  const lines = linesOf(stderr);
  if (code === 127 && !lines.some((line) => line.includes("@"))) {
    return new PosternError("config", `Cannot use ssh ${alias}: cannot run the ssh program`, {
      hint: "install OpenSSH, or use the built-in engine for this host",
    });
  }
  const hint = `see what ssh does: ssh -v ${alias} true`;
  const found = lines.some((line) => /host key verification failed/i.test(line)) && hostKeyLine(lines);
  if (found) {
    return new PosternError("auth", `Cannot trust the host key of ssh host "${alias}": ${found}`, {
      hint: `verify the key with the server's owner, then sign in once: ssh ${alias} true`,
    });
  }
  // The message of a jump host precedes the broken connection that it caused.
  const line = lines.findLast((line) => !consequence.test(line)) ?? lines.at(-1) ??
    `ssh exited with code ${code}`;
  for (const [pattern, make] of kinds) {
    if (pattern.test(line)) return make(alias, line, hint);
  }
  return reach("unreachable", { alias, line, hint, detail: "host" });
}

/** Explains why the ssh program ended after it had signed in. */
export function lossFailure(alias: string, { code, stderr }: EndedProgram): PosternError {
  const line = linesOf(stderr).findLast((line) => loss.test(line)) ?? `ssh exited with code ${code}`;
  const isTimeout = /^Timeout|timed out/i.test(line);
  const said = `Cannot keep the session with ssh ${alias}: ${line}`;
  return isTimeout
    ? new PosternError("timeout", said)
    : new PosternError("unreachable", said, { detail: "host" });
}

type Make = (alias: string, line: string, hint: string) => PosternError;

const kinds: readonly (readonly [RegExp, Make])[] = [
  [
    /permission denied \(|too many authentication failures/i,
    (alias, line) =>
      new PosternError("auth", `Cannot sign in to ssh ${alias}: ${line}`, {
        hint:
          `run ssh ${alias} true to test the sign-in; the ssh program cannot prompt here, so add keys with ` +
          "a passphrase to an agent",
      }),
  ],
  [
    /bad configuration option|configuration options|bad owner or permissions|^command-line|: line \d+|unix_listener|can't open user config/i,
    (alias, line) =>
      new PosternError("config", `Cannot use ssh ${alias}: ${line}`, {
        hint: `check its options: ssh -G ${alias}`,
      }),
  ],
  [
    /unable to negotiate|no matching/i,
    (alias, line, hint) => new PosternError("protocol", `Cannot use ssh ${alias}: ${line}`, { hint }),
  ],
  [/timed out|timeout/i, (alias, line, hint) => reach("timeout", { alias, line, hint })],
  [
    /network is unreachable/i,
    (alias, line, hint) => reach("unreachable", { alias, line, hint, detail: "network" }),
  ],
];

interface Reach {
  readonly alias: string;
  readonly line: string;
  readonly hint: string;
  readonly detail?: "host" | "network";
}

function reach(code: "unreachable" | "timeout", { alias, line, hint, detail }: Reach): PosternError {
  return new PosternError(code, `Cannot reach ssh ${alias}: ${line}`, { hint, detail });
}

/** Returns the most specific line about the host key. It names the known key, or says that no key is known. */
function hostKeyLine(lines: readonly string[]): string {
  const fingerprint = lines.find((line) => /^SHA256:/.test(line))?.replace(/\.$/, "");
  const known = lines.find((line) => /^Offending /.test(line)) ??
    lines.find((line) => /is known for|revoked/i.test(line))?.replace(/ and you have requested.*$/, "") ??
    "host key verification failed";
  return fingerprint === undefined ? known : `the server shows ${fingerprint}; ${known}`;
}

function linesOf(stderr: string): string[] {
  return causeLines(stderr).filter((line) => !/^@+$/.test(line)).map((line) => line.slice(0, 300));
}

/** ssh's messages when its connection broke for any reason. */
const consequence =
  /^(kex_exchange_identification: |ssh_exchange_identification: |banner exchange: )?(read: )?connection (closed|reset) |^connection to unknown port|^stdio forwarding failed|^killed by signal/i;

const loss =
  /^timeout, server|^connection (to .* )?(closed|reset)|^client_loop|^received disconnect|^disconnected from|broken pipe|corrupted mac|^ssh_dispatch_run_fatal|timed out/i;
