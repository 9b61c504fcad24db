import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { type Endpoint, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { narrowedTls, tlsVersions } from "./konnectivity_tls.ts";
import { durationOrNever, oneOf, pathValue, wholeNumber, words } from "../line/options.ts";
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

/** The flags of upstream's server. Flags that only tune it are accepted without effect. */
export const serverOptions = object({
  action: constant("server"),
  front: object({
    mode: withDefault(
      option("--mode", oneOf(["grpc", "http-connect"], "MODE"), {
        description: words("Protocol of the frontend: grpc or http-connect (default: grpc)."),
      }),
      "grpc" as const,
    ),
    port: listenPort("--server-port", 8090, "Port of the frontend; 0 disables it, with --uds-name"),
    address: listenOption("--server-bind-address", "Listen address of the frontend", ""),
    socket: optional(option("--uds-name", pathValue("PATH"), {
      description: words("Unix socket of the frontend, without TLS, instead of a port."),
    })),
    replacesSocket: switchOption(
      "--delete-existing-uds-file",
      "Replace the socket of a previous server (default: true).",
      true,
    ),
    ca: fileOption("--server-ca-cert", "CA certificates of the clients."),
    cert: fileOption("--server-cert", "Certificate of the frontend."),
    key: fileOption("--server-key", "Key of the frontend's certificate."),
  }),
  agents: object({
    port: listenPort("--agent-port", 8091, "Port for agents"),
    address: listenOption("--agent-bind-address", "Listen address for agents", ""),
    ca: fileOption("--cluster-ca-cert", "CA certificates of the agents."),
    cert: fileOption("--cluster-cert", "Certificate of the port for agents."),
    key: fileOption("--cluster-key", "Key of the certificate for agents."),
    strategies: withDefault(
      option("--proxy-strategies", string({ metavar: "LIST" }), {
        description: words(
          "Strategies to choose an agent, in order: default, destHost, defaultRoute (default: default).",
        ),
      }),
      "default",
    ),
  }),
  others: object({
    healthPort: listenPort("--health-port", 8092, "Port of /healthz, /readyz and /metrics"),
    healthAddress: listenOption("--health-bind-address", "Listen address of the health port", ""),
    adminPort: listenPort("--admin-port", 8095, "Port of /metrics only"),
    adminAddress: listenOption("--admin-bind-address", "Listen address of the admin port", "127.0.0.1"),
  }),
  tokens: object({
    namespace: textOption(
      "--agent-namespace",
      "NAME",
      "Namespace of the agents that authenticate with tokens.",
    ),
    serviceAccount: textOption(
      "--agent-service-account",
      "NAME",
      "Service account of the agents that authenticate with tokens.",
    ),
    audience: textOption("--authentication-audience", "NAME", "Required audience of the agents' tokens."),
  }),
  cluster: object({
    kubeconfig: fileOption(
      "--kubeconfig",
      "Kubeconfig of the cluster that reviews tokens and stores the Lease (default: the cluster of this pod).",
    ),
    keepsLease: switchOption("--enable-lease-controller", "Keep a Lease, so that agents can count servers."),
    leaseNamespace: withDefault(
      option("--lease-namespace", string({ metavar: "NAME" }), {
        description: words("Namespace of the Lease (default: kube-system)."),
      }),
      "kube-system",
    ),
    leaseLabel: withDefault(
      option("--lease-label", string({ metavar: "LABELS" }), {
        description: words("Labels of the Lease (default: k8s-app=konnectivity-server)."),
      }),
      "k8s-app=konnectivity-server",
    ),
  }),
  identity: object({
    id: textOption(
      "--server-id",
      "ID",
      "ID of this server (default: $PROXY_SERVER_ID, else random).",
    ),
    count: withDefault(
      option("--server-count", wholeNumber({ min: 1, max: 1000, metavar: "NUMBER" }), {
        description: words("Number of servers that agents connect to (default: 1)."),
      }),
      1,
    ),
  }),
  times: object({
    dial: withDefault(
      option("--backend-dial-timeout", durationOrNever(), {
        description: words("Timeout of one dial; 0 disables it (default: 10s)."),
      }),
      10_000,
    ),
    drain: withDefault(
      option("--graceful-shutdown-timeout", durationOrNever(), {
        description: words("Drain limit for connections after the first signal (default: 30s)."),
      }),
      30_000,
    ),
    agents: withDefault(
      option("--keepalive-time", durationOrNever(), {
        description: words("Idle time before a keepalive probe to an agent; at most 3s (default: 3s)."),
      }),
      3000,
    ),
    clients: withDefault(
      option("--frontend-keepalive-time", durationOrNever(), {
        description: words("Idle time before a keepalive probe to a gRPC client (default: 1h)."),
      }),
      3_600_000,
    ),
  }),
  tls: object({
    version: withDefault(
      option("--tls-min-version", oneOf(tlsVersions, "VERSION"), {
        description: words("Minimum TLS version; never below 1.2 (default: VersionTLS12)."),
      }),
      "VersionTLS12" as const,
    ),
    suites: textOption(
      "--cipher-suites",
      "LIST",
      "Cipher suites for TLS 1.2; postern cannot restrict them and logs a warning.",
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

/** The service account whose tokens agents send; undefined when they use certificates. */
function tokensOf(
  { tokens: { namespace, serviceAccount, audience } }: Values,
): { namespace: string; serviceAccount: string; audience: string } | undefined {
  const given = [namespace, serviceAccount, audience].filter((text) => text !== undefined && text !== "");
  if (given.length === 0) return undefined;
  if (namespace && serviceAccount && audience) return { namespace, serviceAccount, audience };
  throw new PosternError("usage", "Cannot check agents' tokens: incomplete token options", {
    hint: "add --agent-namespace, --agent-service-account and --authentication-audience",
  });
}

function expectFiles({ front, agents }: Values, hasTokens: boolean): void {
  if (hasTokens && agents.ca !== undefined) {
    throw new PosternError("usage", "Cannot require both certificates and tokens from agents", {
      hint: "omit --cluster-ca-cert, or omit the --agent-… and --authentication-audience options",
    });
  }
  if (agents.cert === undefined || agents.key === undefined || (agents.ca === undefined && !hasTokens)) {
    throw new PosternError("usage", "Cannot accept agents: missing certificate files", {
      hint: hasTokens
        ? "add --cluster-cert and --cluster-key"
        : "add --cluster-ca-cert, --cluster-cert and --cluster-key",
    });
  }
  const isSocket = front.socket !== undefined && front.socket !== "";
  const hasTls = front.ca !== undefined || front.cert !== undefined || front.key !== undefined;
  if (
    !isSocket && hasTls && (front.ca === undefined || front.cert === undefined || front.key === undefined)
  ) {
    throw new PosternError(
      "usage",
      "Cannot serve clients over TLS: --server-cert, --server-key and --server-ca-cert must be given together",
      {
        hint: "add the missing options, or omit all three",
      },
    );
  }
  if (isSocket && (front.port !== 0 || hasTls)) {
    throw new PosternError("usage", "Cannot serve clients on both a unix socket and a port", {
      hint: "with --uds-name, use --server-port=0 and omit --server-ca-cert, --server-cert and --server-key",
    });
  }
}

function frontOf({ socket, port, address }: Values["front"]): Endpoint {
  if (socket !== undefined && socket !== "") return { path: socket };
  if (port > 0) return { host: address, port };
  throw new PosternError("usage", "Cannot serve clients: neither --server-port nor --uds-name is set", {
    hint: "add --server-port or --uds-name",
  });
}

function strategiesOf(list: string): ("default" | "destHost" | "defaultRoute")[] {
  const known = ["default", "destHost", "defaultRoute"] as const;
  return list.split(",").map((word) => {
    const strategy = known.find((name) => name === word.trim());
    if (strategy) return strategy;
    throw new PosternError(
      "usage",
      `Cannot use ${JSON.stringify(word)} in --proxy-strategies: unknown strategy`,
      {
        hint: `use a comma-separated list of ${known.join(", ")}`,
      },
    );
  });
}
