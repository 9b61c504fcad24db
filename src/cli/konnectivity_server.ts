import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { choice, integer, string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { type Endpoint, PosternError, type World } from "../core/mod.ts";
import type { RunContext } from "./command.ts";
import { durationOrNever, durationValue, pathValue, words } from "./options.ts";
import { ignoredOptions, listenPort, untilSignals } from "./konnectivity_options.ts";

const file = (name: `--${string}`, about: string) =>
  optional(option(name, pathValue("FILE"), { description: words(about) }));

/** The flags of upstream's server that mean something here; those that only tune it are taken and do nothing. */
export const serverOptions = object({
  action: constant("server"),
  mode: withDefault(
    option("--mode", choice(["grpc", "http-connect"], { metavar: "MODE" }), {
      description: words("What clients speak (default: grpc)."),
    }),
    "grpc" as const,
  ),
  serverPort: listenPort("--server-port", 8090, "The port of the frontend; 0 for none, with --uds-name."),
  serverAddress: withDefault(
    option("--server-bind-address", string({ metavar: "ADDR" }), {
      description: words("Where the frontend listens (default: every address)."),
    }),
    "0.0.0.0",
  ),
  socket: optional(option("--uds-name", pathValue("PATH"), {
    description: words("The frontend's unix socket, without TLS, in place of its port."),
  })),
  agentPort: listenPort("--agent-port", 8091, "The port for agents."),
  agentAddress: withDefault(
    option("--agent-bind-address", string({ metavar: "ADDR" }), {
      description: words("Where agents are listened for (default: every address)."),
    }),
    "0.0.0.0",
  ),
  healthPort: listenPort("--health-port", 8092, "The port of /healthz, /readyz and /metrics."),
  healthAddress: withDefault(
    option("--health-bind-address", string({ metavar: "ADDR" }), {
      description: words("Where that listens (default: every address)."),
    }),
    "0.0.0.0",
  ),
  serverCa: file("--server-ca-cert", "The CA of clients' certificates."),
  serverCert: file("--server-cert", "The frontend's certificate."),
  serverKey: file("--server-key", "Its key."),
  clusterCa: file("--cluster-ca-cert", "The CA of agents' certificates."),
  clusterCert: file("--cluster-cert", "The certificate of the port for agents."),
  clusterKey: file("--cluster-key", "Its key."),
  id: optional(option("--server-id", string({ metavar: "ID" }), {
    description: words(
      "The name of this server among several (default: $PROXY_SERVER_ID, else a random one).",
    ),
  })),
  count: withDefault(
    option("--server-count", integer({ min: 1, max: 1000, metavar: "NUMBER" }), {
      description: words("How many servers there are; agents look for as many (default: 1)."),
    }),
    1,
  ),
  strategies: withDefault(
    option("--proxy-strategies", string({ metavar: "LIST" }), {
      description: words(
        "How an agent is chosen: default, destHost, defaultRoute, in this order (default: default).",
      ),
    }),
    "default",
  ),
  dialTimeout: withDefault(
    option("--backend-dial-timeout", durationOrNever(), {
      description: words("How long one dial may take (default: 10s)."),
    }),
    10_000,
  ),
  drain: withDefault(
    option("--graceful-shutdown-timeout", durationValue(), {
      description: words("How long connections may go on after the first signal (default: 30s)."),
    }),
    30_000,
  ),
  ignored: multiple(ignoredOptions([
    "--admin-port",
    "--admin-bind-address",
    "--keepalive-time",
    "--frontend-keepalive-time",
    "--xfr-channel-size",
    "--kube-api-content-type",
    "--delete-existing-uds-file",
    "--enable-profiling",
    "--enable-contention-profiling",
  ])),
});

/** `postern konnectivity server`. */
export async function runServer(
  values: InferValue<typeof serverOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  const { runKonnectivityServer } = await import("../app/mod.ts");
  const { terminal, process } = world;
  const tls = (ca?: string, cert?: string, key?: string) => ({
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
  const { clusterCa, clusterCert, clusterKey } = values;
  if (clusterCa === undefined || clusterCert === undefined || clusterKey === undefined) {
    throw new PosternError("usage", "Cannot serve agents without certificates", {
      hint: "give --cluster-ca-cert, --cluster-cert and --cluster-key",
    });
  }
  await using signals = untilSignals(world, signal);
  await runKonnectivityServer(
    {
      mode: values.mode,
      id: values.id ?? process.env("PROXY_SERVER_ID") ?? crypto.randomUUID(),
      count: values.count,
      strategies: strategiesOf(values.strategies),
      front: frontOf(values),
      agents: { host: values.agentAddress, port: values.agentPort },
      health: { host: values.healthAddress, port: values.healthPort },
      frontTls: tls(values.serverCa, values.serverCert, values.serverKey),
      agentTls: tls(clusterCa, clusterCert, clusterKey),
      dialTimeout: values.dialTimeout || 24 * 3600 * 1000,
      drain: values.drain,
    },
    world,
    {
      log,
      signal: signals.first,
      onReady: ({ front, agents, health }) => terminal.out(`ready ${front} ${agents} ${health}\n`),
    },
  );
}

function frontOf(
  { socket, serverPort, serverAddress }: {
    socket?: string | undefined;
    serverPort: number;
    serverAddress: string;
  },
): Endpoint {
  if (socket !== undefined && socket !== "") return { path: socket };
  if (serverPort > 0) return { host: serverAddress, port: serverPort };
  throw new PosternError("usage", "Cannot serve clients: there is neither a port nor a socket for them", {
    hint: "give --server-port or --uds-name",
  });
}

function strategiesOf(list: string): ("default" | "destHost" | "defaultRoute")[] {
  const known = ["default", "destHost", "defaultRoute"] as const;
  return list.split(",").map((word) => {
    const strategy = known.find((name) => name === word.trim());
    if (strategy) return strategy;
    throw new PosternError("usage", `Cannot choose agents by ${JSON.stringify(word)}`, {
      hint: `write a list of ${known.join(", ")}`,
    });
  });
}
