import { asPosternError, describe, formatTarget } from "../../words/mod.ts";
import { type Clock, silentLog } from "../../core/mod.ts";
import type { Files, Network } from "../../world/mod.ts";
import { HostKeys } from "../host_keys/host_keys.ts";
import { SshAgent } from "../keys/ssh_agent.ts";
import type { SshHost } from "./ssh_host.ts";

/** The result of one check of the ssh setup, and a fix for a failed one. */
export interface SshFinding {
  readonly name: string;
  readonly state: "ok" | "warning" | "failed" | "skipped";
  readonly detail: string;
  readonly hint?: string;
}

export interface SshSurroundings {
  readonly network: Pick<Network, "connect">;
  readonly clock: Clock;
  readonly files: Files;
  /** Runs a program and returns its output. */
  readonly run: (command: readonly string[]) => Promise<{ readonly stdout: string; readonly stderr: string }>;
}

/** Checks the local setup of ssh hosts: agents, keys, known hosts, the ssh program. Connects to no host. */
export async function* inspectSsh(
  hosts: readonly SshHost[],
  around: SshSurroundings,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<SshFinding> {
  const own = hosts.filter(({ engine }) => engine !== "openssh");
  if (own.length < hosts.length) yield await programFinding(around);
  if (own.length === 0) return;
  yield* agentFindings(own, around, signal);
  yield* keyFileFindings(own, around);
  const hostKeys = new HostKeys({ ...around, log: silentLog });
  yield* knownHostsFindings(own, hostKeys);
  for (const host of own) yield* hostFindings(host, { around, hostKeys, signal });
}

async function programFinding({ run }: SshSurroundings): Promise<SshFinding> {
  const name = "ssh program";
  try {
    const { stdout, stderr } = await run(["ssh", "-V"]);
    return { name, state: "ok", detail: `${stdout}${stderr}`.trim() };
  } catch (error) {
    return {
      name,
      state: "failed",
      detail: describe(error),
      hint: "install OpenSSH, which engine: openssh needs",
    };
  }
}

async function* agentFindings(
  hosts: readonly SshHost[],
  around: SshSurroundings,
  signal: AbortSignal,
): AsyncGenerator<SshFinding> {
  const name = "ssh agent";
  const paths = new Set(hosts.flatMap(({ identityAgent }) => identityAgent ?? []));
  if (paths.size === 0) {
    yield { name, state: "skipped", detail: "neither SSH_AUTH_SOCK nor IdentityAgent is set" };
  }
  for (const path of paths) {
    try {
      const { length } = await new SshAgent(path, around).keys({ signal });
      const detail = `${path} holds ${length === 0 ? "no key" : length === 1 ? "1 key" : `${length} keys`}`;
      yield length > 0
        ? { name, state: "ok", detail }
        : { name, state: "warning", detail, hint: "add a key: ssh-add" };
    } catch (error) {
      signal.throwIfAborted();
      const { hint } = asPosternError(error);
      yield { name, state: "warning", detail: describe(error), ...(hint !== undefined && { hint }) };
    }
  }
}

/**
 * Reports private keys that other users can read, and keys that we cannot read. Most default key files do not
 * exist.
 */
async function* keyFileFindings(
  hosts: readonly SshHost[],
  { files }: SshSurroundings,
): AsyncGenerator<SshFinding> {
  const { inspectPrivateKey } = await import("../keys/ssh_private_key.ts");
  for (const path of new Set(hosts.flatMap(({ identityFiles }) => identityFiles))) {
    const name = `key ${path}`;
    try {
      const info = await files.info(path);
      if (!info || !inspectPrivateKey(await files.readText(path, { limit: mostBytes }))) continue;
      if (((info.mode ?? 0) & 0o077) === 0) yield { name, state: "ok", detail: "only you can read it" };
      else {
        const mode = ((info.mode ?? 0) & 0o777).toString(8);
        const hint = `chmod 600 ${path}`;
        yield { name, state: "failed", detail: `other users can read it (mode ${mode})`, hint };
      }
    } catch (error) {
      yield { name, state: "failed", detail: describe(error), hint: `ls -l ${path}` };
    }
  }
}

/** Reports known_hosts files that cannot be read, and invalid lines. */
async function* knownHostsFindings(
  hosts: readonly SshHost[],
  hostKeys: HostKeys,
): AsyncGenerator<SshFinding> {
  const told = new Set<string>();
  for (const host of hosts) {
    for (const { file, line, message } of await hostKeys.problems(host)) {
      const detail = line > 0 ? `${file}:${line}: ${message}` : message;
      if (told.has(detail)) continue;
      told.add(detail);
      yield { name: "known hosts", state: "warning", detail };
    }
  }
}

/** Reports whether a sign-in can work: it needs a key to offer, and a known host key. */
async function* hostFindings(
  host: SshHost,
  { around, hostKeys, signal }: { around: SshSurroundings; hostKeys: HostKeys; signal: AbortSignal },
): AsyncGenerator<SshFinding> {
  const name = `ssh host ${host.alias}`;
  const { collectIdentities } = await import("../keys/ssh_identities.ts");
  const { all } = await collectIdentities(host, around, { signal });
  const locked = all.flatMap(({ lock }) => lock?.path ?? []);
  const open = all.length - locked.length;
  const isKnown = await hostKeys.isKnown(host);
  if (!isKnown && host.strictHostKeyChecking === "yes") {
    const detail = "its host key is not known, so postern would reject it";
    yield { name, state: "failed", detail, hint: `connect once and compare the host key: ssh ${host.alias}` };
  }
  for (const path of new Set(locked)) {
    const detail = `${path} has a passphrase, and no agent holds it`;
    yield { name, state: "warning", detail, hint: `ssh-add ${path}` };
  }
  if (all.length === 0 && host.pubkey) {
    const hint = "start an ssh agent and add a key to it, or name an IdentityFile";
    yield { name, state: "warning", detail: "no key to offer", hint };
  }
  if (open === 0 || !(isKnown || host.strictHostKeyChecking !== "yes")) return;
  const address = formatTarget({ host: host.hostName, port: host.port });
  const keys = open === 1 ? "1 key" : `${open} keys`;
  const trust = isKnown ? "host key known" : "host key will be accepted as new";
  yield { name, state: "ok", detail: `${host.user} at ${address}: ${keys} to offer, ${trust}` };
}

/** Larger than any key. */
const mostBytes = 64 * 1024;
