import { usualSshPort } from "../config/language/ssh_config_numbers.ts";
import { asPosternError, describe, formatIp, parseIp, PosternError } from "../../words/mod.ts";
import type { Clock, Log } from "../../core/mod.ts";
import type { Files } from "../../world/mod.ts";
import { decodePublicKey, type SshPublicKey } from "../keys/ssh_keys.ts";
import { knownHostName, lowerCaseName } from "./known_host_names.ts";
import { orderedHostKeyAlgorithms } from "./host_key_algorithms.ts";
import {
  describeKey,
  type HostKeyCase,
  hostKeyFailure,
  shortHostKey,
  unusableHostKey,
} from "./host_key_failure.ts";
import { type KnownLines, trustedTypes, verdictOn } from "./host_key_verdict.ts";
import { KnownHostsFiles, remembersNothing } from "./known_hosts_files.ts";
import { rsaSizeProblem } from "../keys/rsa_size.ts";
import { recordHostKey } from "./record_host_key.ts";
import type { SshConfigProblem, SshHost } from "../config/ssh_host.ts";

/** The options of a host that affect which keys to trust. */
export type HostKeySettings = Pick<
  SshHost,
  | "alias"
  | "hostName"
  | "port"
  | "hostKeyAlias"
  | "userKnownHostsFiles"
  | "globalKnownHostsFiles"
  | "strictHostKeyChecking"
  | "hashKnownHosts"
  | "hostKeyAlgorithms"
  | "requiredRsaSize"
>;

/** Whether to trust a server, and why. */
export type HostKeyDecision =
  | {
    readonly isAccepted: true;
    /** `FILE:LINE`, or a note that the key is new. */
    readonly because: string;
    /** `ED25519 SHA256:…`. */
    readonly shown: string;
  }
  | { readonly isAccepted: false; readonly error: PosternError };

export interface HostKeysDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

/** Decides about host keys as OpenSSH does, from the current known_hosts files. */
export class HostKeys {
  readonly #deps: HostKeysDeps;
  readonly #known: KnownHostsFiles;

  constructor(deps: HostKeysDeps) {
    this.#deps = deps;
    this.#known = new KnownHostsFiles(deps);
  }

  /** Judges a server's key; with accept-new, records a new key. Rejects only with the signal's reason. */
  async decide(
    host: HostKeySettings,
    blob: Uint8Array,
    { signal }: { signal: AbortSignal },
  ): Promise<HostKeyDecision> {
    let key: SshPublicKey;
    try {
      key = decodePublicKey(new Uint8Array(blob));
    } catch (error) {
      return { isAccepted: false, error: unusableHostKey(host.alias, error) };
    }
    const tooShort = rsaSizeProblem(key.blob, host);
    if (tooShort !== undefined) return { isAccepted: false, error: shortHostKey(host.alias, tooShort) };
    const decision = await this.#judge(host, key);
    return "recordIn" in decision
      ? await this.#acceptNew(host, { key, path: decision.recordIn, signal })
      : decision;
  }

  /** Like `decide`, but rejects with the reason when the key is not trusted. */
  async verify(host: HostKeySettings, blob: Uint8Array, options: { signal: AbortSignal }): Promise<void> {
    const decision = await this.decide(host, blob, options);
    if (!decision.isAccepted) throw decision.error;
  }

  /**
   * Returns the algorithms to offer, of those that the engine supports: known keys first. Weak ones need to
   * be configured.
   */
  async algorithms(
    host: HostKeySettings,
    usual: readonly string[],
    { onRequest = [] }: { readonly onRequest?: readonly string[] } = {},
  ): Promise<string[]> {
    const supported = [...usual, ...onRequest];
    const offered = host.hostKeyAlgorithms?.filter((algorithm) => supported.includes(algorithm)) ?? usual;
    if (offered.length === 0) {
      throw new PosternError(
        "config",
        `Cannot sign in to ssh host "${host.alias}": the built-in engine supports none of its HostKeyAlgorithms, only ${
          supported.join(", ")
        }`,
        { hint: "use engine: openssh for this host" },
      );
    }
    return orderedHostKeyAlgorithms(trustedTypes(await this.#linesOf(host)), offered);
  }

  /** Returns the problems of a host's files: invalid lines, and unreadable files. */
  async problems(host: HostKeySettings): Promise<SshConfigProblem[]> {
    return [
      ...await this.#known.problems(host.userKnownHostsFiles, "UserKnownHostsFile"),
      ...await this.#known.problems(host.globalKnownHostsFiles, "GlobalKnownHostsFile"),
    ];
  }

  /** Whether a trusted key of the host is known. */
  async isKnown(host: HostKeySettings): Promise<boolean> {
    return trustedTypes(await this.#linesOf(host)).size > 0;
  }

  /** Empties the cache, for a reload. */
  forget(): void {
    this.#known.forgetAll();
  }

  /**
   * Sets `recordIn` for a key that accept-new can record: no key of the host is known, and every file was
   * readable.
   */
  async #judge(
    host: HostKeySettings,
    key: SshPublicKey,
  ): Promise<HostKeyDecision | { readonly recordIn: string }> {
    const { failures, ...lines } = await this.#linesOf(host);
    const verdict = verdictOn(key, lines);
    if (verdict.kind === "known") {
      return {
        isAccepted: true,
        because: `${verdict.by.file}:${verdict.by.line}`,
        shown: await describeKey(key),
      };
    }
    // As in ssh: accept no new key if it cannot be recorded. An unreadable file may hold another key of the
    // host.
    const recordIn = recordOf(host);
    if (verdict.kind === "unknown" && recordIn !== undefined && failures.length === 0) return { recordIn };
    const { alias, hostName, port } = host;
    const files = filesOf(host).filter((path) => !remembersNothing(path));
    const about: HostKeyCase = { alias, hostName, port, name: nameOf(host), key, files, failures };
    return { isAccepted: false, error: await hostKeyFailure(verdict, about) };
  }

  async #acceptNew(
    host: HostKeySettings,
    { key, path, signal }: { key: SshPublicKey; path: string; signal: AbortSignal },
  ): Promise<HostKeyDecision> {
    const { files, clock, log } = this.#deps;
    const shown = await describeKey(key);
    if (remembersNothing(path)) return { isAccepted: true, because: "new, not recorded", shown };
    let decision: HostKeyDecision = { isAccepted: true, because: `new in ${path}`, shown };
    try {
      const isRecorded = await recordHostKey({
        path,
        name: nameOf(host),
        key,
        hashes: host.hashKnownHosts,
        files,
        clock,
        isStillNew: async () => {
          this.#known.forget(path);
          const now = await this.#judge(host, key);
          if ("recordIn" in now) return true;
          decision = now;
          return false;
        },
      }, { signal });
      this.#known.forget(path);
      if (isRecorded) {
        log.info("ssh.host_key_accepted", { host: host.alias, file: path, key: shown });
      }
      return decision;
    } catch (error) {
      if (signal.aborted) throw error;
      // As in ssh: accept-new accepts the key, and postern warns each time that it cannot record it.
      const reason = describe(asPosternError(error));
      log.warn("ssh.host_key_not_recorded", { host: host.alias, file: path, key: shown, reason });
      return decision;
    }
  }

  async #linesOf(
    host: HostKeySettings,
  ): Promise<KnownLines & { readonly failures: readonly PosternError[] }> {
    const paths = filesOf(host);
    const name = nameOf(host);
    const own = await this.#known.matches(paths, name);
    const isPlain = host.hostKeyAlias !== undefined || host.port === usualSshPort;
    const portless = isPlain ? [] : (await this.#known.matches(paths, hostNameOf(host))).matches;
    return { own: own.matches, portless, failures: own.failures };
  }
}

function filesOf({ userKnownHostsFiles, globalKnownHostsFiles }: HostKeySettings): string[] {
  return [...userKnownHostsFiles, ...globalKnownHostsFiles];
}

/** Returns the file for new keys, with accept-new. */
function recordOf({ strictHostKeyChecking, userKnownHostsFiles }: HostKeySettings): string | undefined {
  const [first] = userKnownHostsFiles;
  return strictHostKeyChecking === "yes" || first === "none" ? undefined : first;
}

/** An alias is looked up without the port. */
function nameOf(host: HostKeySettings): string {
  if (host.hostKeyAlias !== undefined) return lowerCaseName(host.hostKeyAlias);
  return knownHostName(hostNameOf(host), host.port);
}

function hostNameOf({ hostName }: HostKeySettings): string {
  const address = parseIp(hostName);
  return address ? formatIp(address) : lowerCaseName(hostName);
}
