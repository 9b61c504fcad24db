import type { Files, Network, Places, Process } from "../../world/mod.ts";
import { type IpBytes, parseIp, PosternError, unmapped } from "../../words/mod.ts";
import { unlessAborted } from "../../core/mod.ts";
import { comparableHost, isInside } from "../../routing/mod.ts";

export interface SurroundingsParts {
  readonly files: Pick<Files, "readTextIfThere">;
  readonly network: Pick<Network, "attached">;
  readonly process: Pick<Process, "hostName" | "platform">;
  readonly places: Pick<Places, "system">;
  readonly now: () => number;
  /** Whether an address stands for a name: `postern hosts` writes such lines for the names of clusters. */
  readonly isNamed: (address: string) => boolean;
}

/** How long the interfaces of this machine are cached, in ms. */
const fresh = 10_000;
const longest = 4 * 1024 * 1024;
/** A larger network may be a cluster's: /20 has room for 4,094 hosts, more than an office or a home needs. */
const shortestPrefix = { 4: 20, 16: 64 } as const;
/** Tunnel interfaces, which may connect to clusters. */
const tunnels =
  /^(?:tun|tap|utun|ppp|wg|ipsec|gif|stf|tailscale|ts|zt|nordlynx|proton|vpn|cscotun|gpd|cali|cni|flannel|veth)/i;

/** The names and addresses of this machine, and of networks that it is attached to. */
export class Surroundings {
  readonly #parts: SurroundingsParts;
  #names: ReadonlySet<string> = new Set();
  #networks: readonly { readonly bytes: IpBytes; readonly bits: number }[] = [];
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;

  constructor(parts: SurroundingsParts) {
    this.#parts = parts;
  }

  get isFresh(): boolean {
    return this.#parts.now() - this.#lookedAt < fresh;
  }

  /** Reads the hosts file and the current networks. */
  async look({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#looking ??= this.#look().finally(() => this.#looking = undefined);
    await unlessAborted(this.#looking, signal);
  }

  async #look(): Promise<void> {
    const { files, network, process, places, now, isNamed } = this.#parts;
    const own = comparableHost(process.hostName);
    const [first = own] = own.split(".");
    const file = process.platform === "windows"
      ? undefined
      : await files.readTextIfThere(`${places.system ?? ""}/etc/hosts`, { limit: longest }).catch(unreadable);
    this.#names = new Set([own, first, ...hostNames(file ?? "", isNamed)]);
    this.#networks = (network.attached?.() ?? []).flatMap(({ name, address, bits }) => {
      const bytes = parseIp(address);
      if (!bytes || tunnels.test(name) || bits < shortestPrefix[bytes.length === 4 ? 4 : 16]) return [];
      return [{ bytes, bits }];
    });
    this.#lookedAt = now();
  }

  /** Whether a host is one of these names or addresses. */
  has(host: string): boolean {
    const name = comparableHost(host);
    const bytes = parseIp(name);
    if (!bytes) return this.#names.has(name);
    const address = unmapped(bytes);
    return this.#networks.some((network) =>
      network.bytes.length === address.length && isInside(address, network)
    );
  }
}

/** An unreadable hosts file counts as empty. */
function unreadable(error: unknown): undefined {
  if (!(error instanceof PosternError)) throw error;
  return undefined;
}

function hostNames(text: string, isNamed: (address: string) => boolean): string[] {
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*$/, "").trim().split(/\s+/);
    return parseIp(address) && !isNamed(address) ? names.map(comparableHost) : [];
  });
}
