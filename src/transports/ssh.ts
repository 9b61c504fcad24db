import { described, text } from "../config/mod.ts";
import type { Conn, DialOptions, Transport } from "../core/mod.ts";
import { sshLabel, SshPath } from "../ssh/mod.ts";
import type { Target } from "../words/mod.ts";
import { defineTransport } from "./define_transport.ts";

/** Connects from an ssh host, through the jump hosts of the ssh configuration. */
export class Ssh extends SshPath implements Transport {
  async dial(target: Target, options: DialOptions): Promise<Conn> {
    const last = await this.last(options);
    const hops = options.onStep ? this.hops : [];
    if (hops.length > 0 && hops.every((hop) => hop.status().state === "ready")) {
      options.onStep?.(`signed in to ${hops.map(({ host }) => sshLabel(host)).join(", ")} earlier`);
    }
    return await last.dial(target, options);
  }

  /** Signs in to every host on the path. */
  async connect(options: DialOptions): Promise<void> {
    await (await this.last(options)).ready(options);
  }
}

/** `ssh: HOST`: a Host of the user's ssh configuration. */
export default defineTransport({
  type: "ssh",
  settings: described(
    text({
      max: 255,
      pattern: /^[^-'`"$\\;&<>|(){}\s][^'`"$\\;&<>|(){}\s]*$/,
      describe: "a Host of the ssh configuration",
    }),
    "Connects through an ssh host and the jump hosts of its ssh configuration.",
  ),
  create: (alias, { name, network, dialer, via, ssh: services }) =>
    // `via: direct` means the same as no `via`.
    new Ssh(alias, { name, network, dialer, via: via === "direct" ? undefined : via, services }),
});
