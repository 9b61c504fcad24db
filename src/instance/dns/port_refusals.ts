import type { Log } from "../../core/mod.ts";
import { type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import type { Process, World } from "../../world/mod.ts";
import { withOwner } from "../../instances/mod.ts";
import { isWildcard } from "../../plan/mod.ts";
import { loopbackAliases } from "../../resolver/mod.ts";
import type { PortRefusal } from "./loopback_listeners.ts";

export interface PortRefusalsDeps {
  readonly world: World;
  readonly log: Log;
  /** The instance's own listeners. */
  readonly own: () => Iterable<Endpoint>;
  readonly spawn: (task: () => Promise<void>) => void;
}

/** Logs once why ports of loopback addresses cannot be bound, and what helps. */
export class PortRefusals {
  readonly #deps: PortRefusalsDeps;
  readonly #told = new Set<string>();

  constructor(deps: PortRefusalsDeps) {
    this.#deps = deps;
  }

  tell(refusal: PortRefusal): void {
    const { error: { detail }, port, address } = refusal;
    // One privileged port stands for all; a missing address concerns all its ports.
    const what = detail === "low_port" ? "low" : detail === "network" ? address : `${port}`;
    if (this.#told.has(what) || this.#told.size >= mostTold) return;
    this.#told.add(what);
    this.#deps.spawn(async () => {
      const { name, address, port } = refusal;
      const { message: reason, hint } = await this.#explained(refusal);
      this.#deps.log.warn("dns.port_refused", { name, address, port, reason, ...(hint && { hint }) });
    });
  }

  /** Tells refusals again, for example after a reload. */
  forget(): void {
    this.#told.clear();
  }

  async #explained({ error, port, address }: PortRefusal): Promise<PosternError> {
    const { world, own } = this.#deps;
    const { platform } = world.process;
    if (error.detail === "low_port") return error.with({ hint: lowPortHint(world.process, port) });
    if (error.detail === "network") {
      const [line = ""] = loopbackAliases(platform, [address]);
      return line === "" ? error : error.with({ hint: `add the address: ${line}` });
    }
    if (error.detail === "overloaded") return error;
    for (const endpoint of own()) {
      if (!("port" in endpoint) || endpoint.port !== port || !isWildcard(endpoint.host)) continue;
      return error.with({
        hint: `this instance listens on ${formatTarget(endpoint)}: give that listener a single address`,
      });
    }
    // Without an answer from the other instances, the hint names the program that lists the owner.
    const owned = await withOwner(world, error).catch(() => error);
    return owned instanceof PosternError ? owned : error;
  }
}

/** Clients may ask for names with any number of ports. */
const mostTold = 1000;

/** How to allow an ordinary user to listen on ports below 1024. */
export function lowPortHint(
  { platform, isCompiled, self: [program = ""] }: Pick<Process, "platform" | "isCompiled" | "self">,
  port: number,
): string {
  if (platform !== "linux") return "run the instance as an administrator, or use a port of 1024 or higher";
  const sysctl = `run: sudo sysctl net.ipv4.ip_unprivileged_port_start=${port}`;
  // From source, the capability would go to the runtime, and with it to every program that it runs.
  return isCompiled
    ? `${sysctl}; or give postern the capability: sudo setcap cap_net_bind_service=+ep '${program}'`
    : sysctl;
}
