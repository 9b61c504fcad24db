import { usualSshPort } from "../config/language/ssh_config_numbers.ts";
import { sha256 } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { algorithmsOf, formatFingerprint, keyLabel, type SshPublicKey } from "../keys/ssh_keys.ts";
import type { HostKeyVerdict } from "./host_key_verdict.ts";
import type { KnownHostMatch } from "./known_hosts_files.ts";

/** Whom a failure is about. */
export interface HostKeyCase {
  /** How a person writes the host: `ssh ALIAS`. */
  readonly alias: string;
  /** What the files were searched for. */
  readonly name: string;
  readonly hostName: string;
  readonly port: number;
  readonly key: SshPublicKey;
  /** The files that were searched, for the message. */
  readonly files: readonly string[];
  /** Files that could not be read. */
  readonly failures: readonly PosternError[];
}

type Refusal = Exclude<HostKeyVerdict, { kind: "known" }>;

/** Why a server is not trusted: file, line and both fingerprints, and what to do about it. */
export async function hostKeyFailure(verdict: Refusal, about: HostKeyCase): Promise<PosternError> {
  const shown = await describeKey(about.key);
  const { says, hint } = await wordsFor(verdict, { about, shown });
  const cause = about.failures[0];
  return new PosternError("auth", `Cannot trust the host key of ${hostOf(about)}: ${says}`, { hint, cause });
}

/** The failure for bytes that are no key, or a key that is too weak to show anything. */
export function unusableHostKey(alias: string, cause: unknown): PosternError {
  return new PosternError("auth", `Cannot trust the host key of ssh host "${alias}"`, {
    cause,
    hint: "update the ssh server there, or use engine: openssh for this host",
  });
}

/** The server's key is of a known kind, and too weak. */
export function shortHostKey(alias: string, problem: string): PosternError {
  return new PosternError("auth", `Cannot trust the host key of ssh host "${alias}": ${problem}`, {
    hint: "ask for another of its keys: HostKeyAlgorithms",
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
        says: `it shows ${shown}, which ${place(verdict.by)} revokes (${await describeKey(verdict.by.key)})`,
        hint: "do not sign in there: ask whoever revoked this key",
      };
    case "authority":
      return {
        says: `it shows ${shown}, and only a certificate of ${await describeKey(verdict.by.key)} (${
          place(verdict.by)
        }) would be trusted, which this engine cannot check`,
        hint: "use engine: openssh for this host",
      };
    case "unknown":
      return {
        says: `it shows ${shown}, which is not known: ${searched(about)}`,
        hint:
          `compare that with what its owner says, then sign in once: ssh ${about.alias} true (or add what ${
            scan(about)
          } prints to known_hosts)`,
      };
  }
}

async function changed(
  { by, authority }: Extract<Refusal, { kind: "changed" }>,
  { about, shown }: { about: HostKeyCase; shown: string },
): Promise<{ says: string; hint: string }> {
  const sameType = by.find(({ key }) => key.type === about.key.type);
  const line = sameType ?? by[0];
  if (!line) throw new TypeError("a key can only have changed from another one");
  const known = `but ${place(line)} has ${await describeKey(line.key)}`;
  const certified = authority ? `; or use engine: openssh, for the authority of ${place(authority)}` : "";
  if (sameType) {
    return {
      says: `it has changed: it shows ${shown}, ${known}`,
      hint: `somebody may stand in between; if its owner says that the new key is right, remove line ` +
        `${line.line} of ${line.file} and sign in once: ssh ${about.alias} true${certified}`,
    };
  }
  return {
    says: `it shows ${shown}, which is not known, ${known}`,
    hint:
      `if its owner says that this key is right too, add what ${
        scan(about)
      } prints to ${line.file}; or let ` +
      `HostKeyAlgorithms allow ${algorithmsOf(line.key.type)[0]}${certified}`,
  };
}

function searched({ name, files, failures }: HostKeyCase): string {
  if (failures.length > 0) return `no file that can be read has a key for "${name}"`;
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
