import { object } from "@optique/core/constructs";
import { multiple, withDefault } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
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
import { durationOrNever, durationValue, oneOf, words } from "../line/options.ts";

/** The flags of upstream's agent. Flags that only tune it are accepted without effect. */
export const agentOptions = object({
  action: constant("agent"),
  host: withDefault(
    option("--proxy-server-host", string({ metavar: "HOST" }), {
      description: words("Server, or load balancer of several servers (default: 127.0.0.1)."),
    }),
    "127.0.0.1",
  ),
  port: listenPort("--proxy-server-port", 8091, "Port of the server for agents"),
  ca: fileOption("--ca-cert", "CA certificates of the servers."),
  cert: fileOption("--agent-cert", "Certificate of this agent."),
  key: fileOption("--agent-key", "Key of this agent's certificate."),
  token: fileOption(
    "--service-account-token-path",
    "File with a token to send instead of a certificate; read for each connection.",
  ),
  id: textOption("--agent-id", "ID", "ID of this agent (default: $PROXY_AGENT_ID, else random)."),
  identifiers: withDefault(
    option("--agent-identifiers", string({ metavar: "LIST" }), {
      description: words("Targets that this agent serves, such as host=a&ipv4=10.0.0.1&default-route=true."),
    }),
    "",
  ),
  healthPort: listenPort("--health-server-port", 8093, "Port of /healthz, /readyz and /metrics"),
  healthAddress: listenOption("--health-server-host", "Listen address of the health port", ""),
  adminPort: listenPort("--admin-server-port", 8094, "Port that redirects to /metrics on the health port"),
  adminAddress: listenOption("--admin-bind-address", "Listen address of the admin port", "127.0.0.1"),
  alpn: textOption(
    "--alpn-proto",
    "LIST",
    "TLS ALPN protocols to offer in addition to h2, for a proxy that shares the server's address.",
  ),
  pulse: withDefault(
    option("--keepalive-time", durationOrNever(), {
      description: words(
        "Idle time before a keepalive probe; at most 3s, or 35s for a Kubernetes server (default: 3s).",
      ),
    }),
    3000,
  ),
  leases: object({
    counts: switchOption("--count-server-leases", "Count servers by their Leases."),
    namespace: withDefault(
      option("--lease-namespace", string({ metavar: "NAME" }), {
        description: words("Namespace of the servers' Leases (default: kube-system)."),
      }),
      "kube-system",
    ),
    label: withDefault(
      option("--lease-label", "--lease-label-selector", string({ metavar: "LABELS" }), {
        description: words("Label selector of the servers' Leases (default: k8s-app=konnectivity-server)."),
      }),
      "k8s-app=konnectivity-server",
    ),
    source: withDefault(
      option("--server-count-source", oneOf(["default", "max"], "SOURCE"), {
        description: words(
          "Server count: default, or max of the Leases and the servers' own count (default: default).",
        ),
      }),
      "default" as const,
    ),
    kubeconfig: fileOption(
      "--kubeconfig",
      "Kubeconfig of the cluster with the Leases and the proxy (default: the cluster of this pod).",
    ),
  }),
  clusterProxy: switchOption(
    "--cluster-proxy",
    "Reach servers through the cluster's accepted Proxy (config.openshift.io) instead of directly.",
  ),
  looksForever: switchOption("--sync-forever", "Keep looking for more servers, regardless of their count."),
  first: withDefault(
    option("--sync-interval", durationValue(), {
      description: words("Pause before the first retry to reach a server (default: 1s)."),
    }),
    1000,
  ),
  most: withDefault(
    option("--sync-interval-cap", durationValue(), {
      description: words("Longest pause between retries (default: 10s)."),
    }),
    10_000,
  ),
  allowed: multiple(option("--allow-target", string({ metavar: "PATTERN" }), {
    description: words(
      "Allow targets that match PATTERN, as in routes; repeatable (default: all targets).",
    ),
  })),
  ignored: multiple(ignoredOptions([
    "--probe-interval",
    "--xfr-channel-size",
    "--kube-api-content-type",
    "--enable-profiling",
    "--enable-contention-profiling",
    "--warn-on-channel-limit",
  ])),
});

export async function runAgent(
  values: InferValue<typeof agentOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  expectIdentifiers(values.identifiers);
  expectPlainPorts({ "--health-server-port": values.healthPort, "--admin-server-port": values.adminPort });
  const { parseLabels, runKonnectivityAgent, selectorOf } = await import("../../roles/mod.ts");
  const { counts, namespace, label, source, kubeconfig } = values.leases;
  const { terminal, process } = world;
  const { token } = values;
  await using signals = untilSignals(world, signal);
  await runKonnectivityAgent(
    {
      server: { host: values.host, port: values.port },
      tls: tlsFiles(values),
      tokenFile: token,
      id: values.id ?? (process.env("PROXY_AGENT_ID") || crypto.randomUUID()),
      identifiers: values.identifiers,
      health: { host: values.healthAddress, port: values.healthPort },
      admin: { host: values.adminAddress, port: values.adminPort },
      alpn: (values.alpn ?? "").split(",").filter((name) => name !== ""),
      pulse: values.pulse || never,
      ...counts && {
        leases: {
          namespace,
          selector: selectorOf(parseLabels(label)),
          source: source === "max" ? "max" : "default",
          kubeconfig,
        },
      },
      ...values.clusterProxy && { clusterProxy: kubeconfig === undefined ? {} : { kubeconfig } },
      looksForever: values.looksForever,
      retry: { first: values.first, most: Math.max(values.first, values.most) },
      allowed: values.allowed,
    },
    world,
    {
      log,
      // The first signal drains, the second one exits.
      draining: signals.first,
      signal: signals.second,
      onReady: ({ health }) => terminal.out(`ready ${health}\n`),
    },
  );
}

/** Rejects unknown kinds of identifiers, as upstream's agent does. */
function expectIdentifiers(text: string): void {
  const known = ["ipv4", "ipv6", "cidr", "host", "default-route"];
  const wrong = [...new URLSearchParams(text).keys()].find((kind) => !known.includes(kind));
  if (wrong === undefined) return;
  throw new PosternError(
    "usage",
    `Cannot use ${JSON.stringify(wrong)} in --agent-identifiers: unknown kind`,
    {
      hint: `use, for example, host=a&ipv4=10.0.0.1; the kinds are ${known.join(", ")}`,
    },
  );
}
