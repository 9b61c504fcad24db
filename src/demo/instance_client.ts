import type { Conn } from "../core/mod.ts";
import { parseTarget, type Target } from "../words/mod.ts";
import { buildTransports } from "../transports/mod.ts";
import { ask, type DemoAnswer } from "./demo_client.ts";
import type { DemoStage } from "./demo_stage.ts";

/** The clients of the demo's instance, one for each protocol. */
export class InstanceClient {
  readonly #stage: Pick<DemoStage, "world" | "instance">;

  constructor(stage: Pick<DemoStage, "world" | "instance">) {
    this.#stage = stage;
  }

  connect(signal: AbortSignal): Promise<Conn> {
    return this.#stage.world.network.connect(parseTarget(this.#stage.instance.address), { signal });
  }

  async dial(scheme: "socks5" | "http", target: Target, signal: AbortSignal): Promise<Conn> {
    const { host, port } = parseTarget(this.#stage.instance.address);
    const settings = { instance: { kind: "proxy", settings: { scheme, host, port } } };
    // The instance's own network refuses connections to itself.
    const { network } = this.#stage.world;
    const { byName } = buildTransports(settings, {
      ...this.#stage.instance.instance.transports.deps,
      network,
    });
    const transport = byName.get("instance")?.transport;
    if (!transport) throw new Error("the demo has no transport to the instance");
    return await transport.dial(target, { signal });
  }

  async page(path: string, signal: AbortSignal, token?: string): Promise<DemoAnswer> {
    const conn = await this.connect(signal);
    return await ask(conn, {
      target: path,
      host: this.#stage.instance.address,
      ...(token !== undefined && { token }),
    });
  }
}
