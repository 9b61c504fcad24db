import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { choice, string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { type Endpoint, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { narrowedTls, tlsVersions } from "./konnectivity_tls.ts";
import { durationOrNever, pathValue, wholeNumber, words } from "../line/options.ts";
import {
  expectPlainPorts,
  fileOption,
  ignoredOptions,
  listenOption,
  listenPort,
  never,
  switchOption,
  textOption,
  tlsFiles,
  untilSignals,
} from "./konnectivity_options.ts";

/** The flags of upstream's server; those that only tune it are taken and do nothing. */
export const serverOptions = object({
  action: constant("server"),
  front: object({
    mode: withDefault(
      option("--mode", choice(["grpc", "http-connect"], { metavar: "MODE" }), {
        description: words("What clients speak (default: grpc)."),
      }),
      "grpc" as const,
    ),
    port: listenPort("--server-port", 8090, "The port of the frontend; 0 for none, with --uds-name."),
    address: listenOption("--server-bind-address", "Where the frontend listens", ""),
    socket: optional(option("--uds-name", pathValue("PATH"), {
      description: words("The frontend's unix socket, without TLS, in place of its port."),
    })),
    replacesSocket: switchOption(
      "--delete-existing-uds-file",
      "Replaces a socket that a former server has left (default: true).",
      true,
    ),
    ca: fileOption("--server-ca-cert", "The CA of clients' certificates."),
    cert: fileOption("--server-cert", "The frontend's certificate."),
    key: fileOption("--server-key", "Its key."),
  }),
  agents: object({
    port: listenPort("--agent-port", 8091, "The port for agents."),
    address: listenOption("--agent-bind-address", "Where agents are listened for", ""),
    ca: fileOption("--cluster-ca-cert", "The CA of agents' certificates."),
    cert: fileOption("--cluster-cert", "The certificate of the port for agents."),
    key: fileOption("--cluster-key", "Its key."),
    strategies: withDefault(
      option("--proxy-strategies", string({ metavar: "LIST" }), {
        description: words(
          "How an agent is chosen: default, destHost, defaultRoute, in this order (default: default).",
        ),
      }),
      "default",
    ),
  }),
  others: object({
    healthPort: listenPort("--health-port", 8092, "The port of /healthz, /readyz and /metrics."),
    healthAddress: listenOption("--health-bind-address", "Where that listens", ""),
    adminPort: listenPort("--admin-port", 8095, "The port of /metrics alone."),
    adminAddress: listenOption("--admin-bind-address", "Where that listens", "127.0.0.1"),
  }),
  tokens: object({
    namespace: textOption("--agent-namespace", "NAME", "The namespace of agents that sign in with tokens."),
    serviceAccount: textOption("--agent-service-account", "NAME", "The service account of such agents."),
    audience: textOption("--authentication-audience", "NAME", "Whom their tokens are meant for."),
  }),
  cluster: object({
    kubeconfig: fileOption(
      "--kubeconfig",
      "The cluster that knows tokens and has the Lease (default: the one it runs in).",
    ),
    keepsLease: switchOption("--enable-lease-controller", "Keeps a Lease, by which agents count servers."),
    leaseNamespace: withDefault(
      option("--lease-namespace", string({ metavar: "NAME" }), {
        description: words("Where that Lease is (default: kube-system)."),
      }),
      "kube-system",
    ),
    leaseLabel: withDefault(
      option("--lease-label", string({ metavar: "LABELS" }), {
        description: words("Its labels (default: k8s-app=konnectivity-server)."),
      }),
      "k8s-app=konnectivity-server",
    ),
  }),
  identity: object({
    id: textOption(
      "--server-id",
      "ID",
      "The name of this server among several (default: $PROXY_SERVER_ID, else a random one).",
    ),
    count: withDefault(
      option("--server-count", wholeNumber({ min: 1, max: 1000, metavar: "NUMBER" }), {
        description: words("How many servers there are; agents look for as many (default: 1)."),
      }),
      1,
    ),
  }),
  times: object({
    dial: withDefault(
      option("--backend-dial-timeout", durationOrNever(), {
        description: words("How long one dial may take; 0 for ever (default: 10s)."),
      }),
      10_000,
    ),
    drain: withDefault(
      option("--graceful-shutdown-timeout", durationOrNever(), {
        description: words("How long connections may go on after the first signal (default: 30s)."),
      }),
      30_000,
    ),
    agents: withDefault(
      option("--keepalive-time", durationOrNever(), {
        description: words("How long an agent may be silent until it is asked; 3s at most (default: 3s)."),
      }),
      3000,
    ),
    clients: withDefault(
      option("--frontend-keepalive-time", durationOrNever(), {
        description: words("How long a client of gRPC may be silent until it is asked (default: 1h)."),
      }),
      3_600_000,
    ),
  }),
  tls: object({
    version: withDefault(
      option("--tls-min-version", choice(tlsVersions, { metavar: "VERSION" }), {
        description: words("The lowest version of TLS; never below 1.2 (default: VersionTLS12)."),
      }),
      "VersionTLS12" as const,
    ),
    suites: textOption(
      "--cipher-suites",
      "LIST",
      "What TLS 1.2 may use; it cannot be narrowed, and says so.",
    ),
  }),
  ignored: multiple(ignoredOptions([
    "--xfr-channel-size",
    "--kube-api-content-type",
    "--kubeconfig-qps",
    "--kubeconfig-burst",
    "--enable-profiling",
    "--enable-contention-profiling",
    "--warn-on-channel-limit",
  ])),
});

type Values = InferValue<typeof serverOptions>;

/** `postern konnectivity server`. */
export async function runServer(values: Values, world: World, { log, signal }: RunContext): Promise<void> {
  const { front, agents, others, identity, times } = values;
  const { terminal, process } = world;
  const tokens = tokensOf(values);
  expectFiles(values, tokens !== undefined);
  expectPlainPorts({
    "--server-port": front.port,
    "--agent-port": agents.port,
    "--health-port": others.healthPort,
    "--admin-port": others.adminPort,
  });
  const minVersion = narrowedTls(values.tls, log);
  const { parseLabels, runKonnectivityServer } = await import("../../roles/mod.ts");
  const { kubeconfig, keepsLease, leaseNamespace, leaseLabel } = values.cluster;
  await using signals = untilSignals(world, signal);
  await runKonnectivityServer(
    {
      mode: front.mode,
      id: identity.id ?? (process.env("PROXY_SERVER_ID") || crypto.randomUUID()),
      count: identity.count,
      strategies: strategiesOf(agents.strategies),
      front: frontOf(front),
      agents: { host: agents.address, port: agents.port },
      health: { host: others.healthAddress, port: others.healthPort },
      admin: { host: others.adminAddress || "127.0.0.1", port: others.adminPort },
      replacesSocket: front.replacesSocket,
      frontTls: tlsFiles(front),
      agentTls: tlsFiles(agents),
      ...minVersion && { minVersion },
      cluster: {
        kubeconfig,
        ...tokens && { tokens },
        ...keepsLease && { lease: { namespace: leaseNamespace, labels: parseLabels(leaseLabel) } },
      },
      dialTimeout: times.dial || never,
      drain: times.drain,
      pulse: { agents: times.agents || never, clients: times.clients || never },
    },
    world,
    {
      log,
      signal: signals.first,
      onReady: ({ front, agents, health }) => terminal.out(`ready ${front} ${agents} ${health}\n`),
    },
  );
}

/** Whose tokens agents sign in with; undefined where they have certificates. */
function tokensOf(
  { tokens: { namespace, serviceAccount, audience } }: Values,
): { namespace: string; serviceAccount: string; audience: string } | undefined {
  const given = [namespace, serviceAccount, audience].filter((text) => text !== undefined && text !== "");
  if (given.length === 0) return undefined;
  if (namespace && serviceAccount && audience) return { namespace, serviceAccount, audience };
  throw new PosternError("usage", "Cannot tell whose tokens agents sign in with", {
    hint: "give --agent-namespace, --agent-service-account and --authentication-audience",
  });
}

function expectFiles({ front, agents }: Values, hasTokens: boolean): void {
  if (hasTokens && agents.ca !== undefined) {
    throw new PosternError("usage", "Cannot ask agents for certificates and for tokens", {
      hint: "leave out --cluster-ca-cert, or --agent-namespace and what goes with it",
    });
  }
  if (agents.cert === undefined || agents.key === undefined || (agents.ca === undefined && !hasTokens)) {
    throw new PosternError("usage", "Cannot serve agents without certificates", {
      hint: hasTokens
        ? "give --cluster-cert and --cluster-key"
        : "give --cluster-ca-cert, --cluster-cert and --cluster-key",
    });
  }
  const isSocket = front.socket !== undefined && front.socket !== "";
  const hasTls = front.ca !== undefined || front.cert !== undefined || front.key !== undefined;
  if (
    !isSocket && hasTls && (front.ca === undefined || front.cert === undefined || front.key === undefined)
  ) {
    throw new PosternError("usage", "Cannot serve clients over TLS with a part of what that needs", {
      hint: "give --server-ca-cert, --server-cert and --server-key",
    });
  }
  if (isSocket && (front.port !== 0 || hasTls)) {
    throw new PosternError("usage", "Cannot serve clients by a socket and by a port", {
      hint: "with --uds-name give --server-port=0, and no --server-ca-cert, --server-cert and --server-key",
    });
  }
}

function frontOf({ socket, port, address }: Values["front"]): Endpoint {
  if (socket !== undefined && socket !== "") return { path: socket };
  if (port > 0) return { host: address, port };
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
