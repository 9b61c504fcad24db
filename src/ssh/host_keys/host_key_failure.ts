import { usualSshPort } from "../config/language/ssh_config_numbers.ts";
import { sha256 } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { algorithmsOf, formatFingerprint, keyLabel, type SshPublicKey } from "../keys/ssh_keys.ts";
import type { HostKeyVerdict } from "./host_key_verdict.ts";
import type { KnownHostMatch } from "./known_hosts_files.ts";

/** The host of a failure. */
export interface HostKeyCase {
  /** The host as in the command `ssh ALIAS`. */
  readonly alias: string;
  /** The name that was looked up in the files. */
  readonly name: string;
  readonly hostName: string;
  readonly port: number;
  readonly key: SshPublicKey;
  /** The files that were searched. */
  readonly files: readonly string[];
  /** Files that could not be read. */
  readonly failures: readonly PosternError[];
}

type Refusal = Exclude<HostKeyVerdict, { kind: "known" }>;

/** Explains why a server is not trusted, with file, line and both fingerprints, and how to fix it. */
export async function hostKeyFailure(verdict: Refusal, about: HostKeyCase): Promise<PosternError> {
  const shown = await describeKey(about.key);
  const { says, hint } = await wordsFor(verdict, { about, shown });
  const cause = about.failures[0];
  return new PosternError("auth", `Cannot trust the host key of ${hostOf(about)}: ${says}`, { hint, cause });
}

/** The error for bytes that are not a key, or for a key too weak to show. */
export function unusableHostKey(alias: string, cause: unknown): PosternError {
  return new PosternError("auth", `Cannot trust the host key of ssh host "${alias}"`, {
    cause,
    hint: "update that ssh server, or use engine: openssh for this host",
  });
}

/** The error for a server key of a known kind that is too weak. */
export function shortHostKey(alias: string, problem: string): PosternError {
  return new PosternError("auth", `Cannot trust the host key of ssh host "${alias}": ${problem}`, {
    hint: "select another of its keys with HostKeyAlgorithms",
  });
}

/** `ED25519 SHA256:…`. */
export async function describeKey({ type, blob }: SshPublicKey): Promise<string> {
  return `${keyLabel(type)} ${formatFingerprint(await sha256(blob))}`;
}

async function wordsFor(
  verdict: Refusal,
  { about, shown }: { about: HostKeyCase; shown: string },
): Promise<{ says: string; hint: string }> {
  switch (verdict.kind) {
    case "changed":
      return await changed(verdict, { about, shown });
    case "revoked":
      return {
        says: `the server shows ${shown}, but ${place(verdict.by)} revokes it (${await describeKey(
          verdict.by.key,
        )})`,
        hint: "do not sign in there; ask the server's owner why the key was revoked",
      };
    case "authority":
      return {
        says: `the server shows ${shown}, but known_hosts trusts only a certificate of ${await describeKey(
          verdict.by.key,
        )} (${place(verdict.by)}), which the built-in engine cannot verify`,
        hint: "use engine: openssh for this host",
      };
    case "unknown":
      return {
        says: `the server shows ${shown}, which is not known: ${searched(about)}`,
        hint:
          `verify the key with the server's owner, then sign in once: ssh ${about.alias} true (or add the output of ${
            scan(about)
          } to known_hosts)`,
      };
  }
}

async function changed(
  { by, authority }: Extract<Refusal, { kind: "changed" }>,
  { about, shown }: { about: HostKeyCase; shown: string },
): Promise<{ says: string; hint: string }> {
  const sameType = by.find(({ key }) => key.type === about.key.type);
  const line = sameType ?? by[0];
  if (!line) throw new TypeError("a changed key needs an old key");
  const known = `but ${place(line)} has ${await describeKey(line.key)}`;
  const certified = authority
    ? `; or use engine: openssh, which supports the certificate authority of ${place(authority)}`
    : "";
  if (sameType) {
    return {
      says: `the key has changed: the server shows ${shown}, ${known}`,
      hint: `this may be an attack; if the server's owner confirms the new key, remove line ` +
        `${line.line} of ${line.file} and sign in once: ssh ${about.alias} true${certified}`,
    };
  }
  return {
    says: `the server shows ${shown}, which is not known, ${known}`,
    hint:
      `if the server's owner confirms this key, add the output of ${scan(about)} to ${line.file}; or make ` +
      `HostKeyAlgorithms allow ${algorithmsOf(line.key.type)[0]}${certified}`,
  };
}

function searched({ name, files, failures }: HostKeyCase): string {
  if (failures.length > 0) return `no readable file has a key for "${name}"`;
  return files.length > 0 ? `no key for "${name}" in ${files.join(", ")}` : "there is no known_hosts file";
}

function scan({ hostName, port }: HostKeyCase): string {
  return `ssh-keyscan ${port === usualSshPort ? "" : `-p ${port} `}${hostName}`;
}

function place({ file, line }: KnownHostMatch): string {
  return `${file}:${line}`;
}

function hostOf({ alias, name }: HostKeyCase): string {
  return alias === name ? `ssh host "${alias}"` : `ssh host "${alias}" (${name})`;
}
