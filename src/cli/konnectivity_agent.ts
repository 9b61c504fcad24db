import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import type { World } from "../core/mod.ts";
import type { RunContext } from "./command.ts";
import { ignoredOptions, listenPort, untilSignals } from "./konnectivity_options.ts";
import { durationValue, pathValue, words } from "./options.ts";

/** The flags of upstream's agent that mean something here; those that only tune it are taken and do nothing. */
export const agentOptions = object({
  action: constant("agent"),
  host: withDefault(
    option("--proxy-server-host", string({ metavar: "HOST" }), {
      description: words("The server, or the balancer in front of several (default: 127.0.0.1)."),
    }),
    "127.0.0.1",
  ),
  port: listenPort("--proxy-server-port", 8091, "Its port for agents."),
  ca: optional(option("--ca-cert", pathValue("FILE"), { description: words("The CA of the servers.") })),
  cert: optional(
    option("--agent-cert", pathValue("FILE"), { description: words("This agent's certificate.") }),
  ),
  key: optional(option("--agent-key", pathValue("FILE"), { description: words("Its key.") })),
  token: optional(option("--service-account-token-path", pathValue("FILE"), {
    description: words("A token in place of a certificate; read anew for each connection."),
  })),
  id: optional(option("--agent-id", string({ metavar: "ID" }), {
    description: words("The name of this agent (default: $PROXY_AGENT_ID, else a random one)."),
  })),
  identifiers: withDefault(
    option("--agent-identifiers", string({ metavar: "LIST" }), {
      description: words("What it is the way to: host=a&ipv4=10.0.0.1&default-route=true."),
    }),
    "",
  ),
  healthPort: listenPort("--health-server-port", 8093, "The port of /healthz, /readyz and /metrics."),
  healthAddress: withDefault(
    option("--health-server-host", string({ metavar: "ADDR" }), {
      description: words("Where that listens (default: every address)."),
    }),
    "0.0.0.0",
  ),
  first: withDefault(
    option("--sync-interval", durationValue(), {
      description: words("The pause before a second try to reach a server (default: 1s)."),
    }),
    1000,
  ),
  most: withDefault(
    option("--sync-interval-cap", durationValue(), {
      description: words("The longest such pause (default: 10s)."),
    }),
    10_000,
  ),
  allowed: multiple(option("--allow-target", string({ metavar: "PATTERN" }), {
    description: words(
      "What it may be asked to connect to, as in routes; may be repeated (default: everything).",
    ),
  })),
  ignored: multiple(ignoredOptions([
    "--admin-server-port",
    "--admin-bind-address",
    "--alpn-proto",
    "--keepalive-time",
    "--probe-interval",
    "--sync-forever",
    "--xfr-channel-size",
    "--enable-profiling",
    "--enable-contention-profiling",
  ])),
});

/** `postern konnectivity agent`. */
export async function runAgent(
  values: InferValue<typeof agentOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  const { runKonnectivityAgent } = await import("../app/mod.ts");
  const { terminal, process } = world;
  const { ca, cert, key, token } = values;
  await using signals = untilSignals(world, signal);
  await runKonnectivityAgent(
    {
      server: { host: values.host, port: values.port },
      tls: {
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
      },
      ...(token !== undefined && { tokenFile: token }),
      id: values.id ?? process.env("PROXY_AGENT_ID") ?? crypto.randomUUID(),
      identifiers: values.identifiers,
      health: { host: values.healthAddress, port: values.healthPort },
      retry: { first: values.first, most: Math.max(values.first, values.most) },
      allowed: values.allowed,
    },
    world,
    {
      log,
      // The first signal drains, the second one ends.
      draining: signals.first,
      signal: signals.second,
      onReady: ({ health }) => terminal.out(`ready ${health}\n`),
    },
  );
}
