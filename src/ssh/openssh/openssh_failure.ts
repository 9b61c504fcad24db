import type { EndedProgram } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { foreignText } from "../sign_in/foreign_text.ts";

/** Why the ssh program did not sign in to a host, from its last words. */
export function signInFailure(alias: string, { code, stderr }: EndedProgram): PosternError {
  const lines = linesOf(stderr);
  if (code === 127 && !lines.some((line) => line.includes("@"))) {
    return new PosternError("config", `Cannot use ssh ${alias}: no ssh program can be run`, {
      hint: "install OpenSSH, or use the built-in engine for this host",
    });
  }
  const hint = `see what ssh does: ssh -v ${alias} true`;
  const found = lines.some((line) => /host key verification failed/i.test(line)) && hostKeyLine(lines);
  if (found) {
    return new PosternError("auth", `Cannot trust the host key of ssh host "${alias}": ${found}`, {
      hint: `compare that with what its owner says, then sign in once: ssh ${alias} true`,
    });
  }
  // What a jump host said comes before the broken line that it caused.
  const line = lines.findLast((line) => !consequence.test(line)) ?? lines.at(-1) ??
    `ssh ended with code ${code}`;
  for (const [pattern, make] of kinds) {
    if (pattern.test(line)) return make(alias, line, hint);
  }
  return reach("unreachable", { alias, line, hint, detail: "host" });
}

/** Why the ssh program ended after it had signed in. */
export function lossFailure(alias: string, { code, stderr }: EndedProgram): PosternError {
  const line = linesOf(stderr).findLast((line) => loss.test(line)) ?? `ssh ended with code ${code}`;
  const isTimeout = /^Timeout|timed out/i.test(line);
  const said = `Cannot go on with ssh ${alias}: ${line}`;
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
          `sign in yourself: ssh ${alias} true; postern cannot be asked for a passphrase here, so such keys ` +
          "have to be in an agent",
      }),
  ],
  [
    /bad configuration option|configuration options|bad owner or permissions|^command-line|: line \d+|unix_listener|can't open user config/i,
    (alias, line) =>
      new PosternError("config", `Cannot use ssh ${alias}: ${line}`, { hint: `see: ssh -G ${alias}` }),
  ],
  [
    /unable to negotiate|no matching/i,
    (alias, line, hint) => new PosternError("protocol", `Cannot go on with ssh ${alias}: ${line}`, { hint }),
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

/** The line that tells most: which key was known, or that none was. */
function hostKeyLine(lines: readonly string[]): string {
  const fingerprint = lines.find((line) => /^SHA256:/.test(line))?.replace(/\.$/, "");
  const known = lines.find((line) => /^Offending /.test(line)) ??
    lines.find((line) => /is known for|revoked/i.test(line))?.replace(/ and you have requested.*$/, "") ??
    "host key verification failed";
  return fingerprint === undefined ? known : `it shows ${fingerprint}; ${known}`;
}

function linesOf(stderr: string): string[] {
  const lines = foreignText(stderr, { limit: 16 * 1024 }).split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !/^@+$/.test(line)).map((line) => line.slice(0, 300));
}

/** What ssh says when the line under it broke, whyever that was. */
const consequence =
  /^(kex_exchange_identification: |ssh_exchange_identification: |banner exchange: )?(read: )?connection (closed|reset) |^connection to unknown port|^stdio forwarding failed|^killed by signal/i;

const loss =
  /^timeout, server|^connection (to .* )?(closed|reset)|^client_loop|^received disconnect|^disconnected from|broken pipe|corrupted mac|^ssh_dispatch_run_fatal|timed out/i;
