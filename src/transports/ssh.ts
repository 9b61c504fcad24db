import { described, text } from "../config/mod.ts";
import type { Conn, DialOptions, Transport } from "../core/mod.ts";
import { sshLabel, SshPath } from "../ssh/mod.ts";
import type { Target } from "../words/mod.ts";
import { defineTransport } from "./define_transport.ts";

/** Connects from an ssh host, through whatever jump hosts the ssh configuration puts before it. */
export class Ssh extends SshPath implements Transport {
  async dial(target: Target, options: DialOptions): Promise<Conn> {
    const last = await this.last(options);
    const hops = options.onStep ? this.hops : [];
    if (hops.length > 0 && hops.every((hop) => hop.status().state === "ready")) {
      options.onStep?.(`signed in to ${hops.map(({ host }) => sshLabel(host)).join(", ")} earlier`);
    }
    return await last.dial(target, options);
  }

  /** Signs in to every host on the way. */
  async connect(options: DialOptions): Promise<void> {
    await (await this.last(options)).ready(options);
  }
}

/** `ssh: HOST`: a Host of the person's ssh configuration. */
export default defineTransport({
  type: "ssh",
  settings: described(
    text({
      max: 255,
      pattern: /^[^-'`"$\\;&<>|(){}\s][^'`"$\\;&<>|(){}\s]*$/,
      describe: "a Host of the ssh configuration",
    }),
    "Goes through an ssh host, and whatever jump hosts the ssh configuration puts before it.",
  ),
  create: (alias, { name, network, dialer, via, ssh: services }) =>
    // To say "direct" is to say nothing.
    new Ssh(alias, { name, network, dialer, via: via === "direct" ? undefined : via, services }),
});
