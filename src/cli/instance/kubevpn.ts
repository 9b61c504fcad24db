import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import { isNc } from "../../permissions/mod.ts";
import { type Command, defineCommand, type RunContext } from "../line/command.ts";
import { instanceOption, pathValue, words } from "../line/options.ts";
import nc from "./nc.ts";
import proxy from "./proxy.ts";
import stop from "./stop.ts";

// The spellings of kubevpn, for users and scripts that know them.

const address = string({ metavar: "ADDR:PORT" });

const cluster = {
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("Kubeconfig (default: $KUBECONFIG, else ~/.kube/config)."),
  })),
  context: optional(option("--context", string({ metavar: "CONTEXT" }), {
    description: words("Context of the kubeconfig (default: the current context)."),
  })),
  namespace: optional(option("--namespace", "-n", string({ metavar: "NAMESPACE" }), {
    description: words("Namespace for names without one (default: the context's namespace)."),
  })),
};

export const proxyOut = defineCommand({
  name: "proxy-out",
  summary: "Run a SOCKS listener for a cluster in the foreground",
  replacement: "postern proxy --kubernetes --listen-socks ADDR:PORT",
  description: "kubevpn's spelling of postern proxy --kubernetes with a listener for SOCKS only.",
  examples: [[
    "postern proxy-out --listen-socks 127.0.0.1:1080",
    "Reach the cluster of the current context over SOCKS",
  ]],
  parser: object({
    listenSocks: optional(option("--listen-socks", address, {
      description: words("Listen address for SOCKS (default: 127.0.0.1:1080)."),
    })),
    listenHttp: optional(option("--listen-http-connect", address, {
      description: words("Listen address for HTTP CONNECT (default: none)."),
    })),
    ...cluster,
  }),
  handlesSignals: true,
  async run({ listenSocks = "127.0.0.1:1080", listenHttp, ...cluster }, world, context) {
    const listen = [`--listen-socks=${listenSocks}`, ...each("--listen-http", listenHttp)];
    return await proxy.start([...globalsOf(context), ...listen, ...clusterOptions(cluster)], world, context);
  },
});

const connectToCluster = defineCommand({
  name: "connect",
  summary: "Start a SOCKS listener for a cluster in the background",
  replacement: "postern proxy --kubernetes --background --listen-socks ADDR:PORT",
  description:
    "kubevpn's spelling of postern proxy --kubernetes --background. postern does not change the system's network. " +
    "With HOST:PORT and without --socks, connect is the same as postern nc.",
  examples: [[
    "postern connect --socks",
    "Listen on 127.0.0.1:1080; postern disconnect stops the instance",
  ]],
  parser: object({
    socks: option("--socks", {
      description: words("Start a SOCKS listener (required: postern supports no other kind)."),
    }),
    listen: optional(option("--socks-listen", address, {
      description: words("Listen address for SOCKS (default: 127.0.0.1:1080)."),
    })),
    id: instanceOption("ID for this instance (default: default)."),
    ...cluster,
  }),
  async run({ socks, listen = "127.0.0.1:1080", id, ...cluster }, world, context) {
    if (!socks) {
      throw new PosternError("usage", "Cannot connect the whole network to a cluster: postern is a proxy", {
        hint: "use postern connect --socks",
      });
    }
    const options = [
      "--background",
      `--listen-socks=${listen}`,
      ...each("--id", id),
      ...clusterOptions(cluster),
    ];
    return await proxy.start([...globalsOf(context), ...options], world, context);
  },
});

/** `connect HOST:PORT` is `nc HOST:PORT`; `readCommandLine` gives it the same permissions. */
export const connect: Command = {
  ...connectToCluster,
  form: (args) => ({ command: isNc(args) ? nc : connectToCluster, args }),
};

export const disconnect = defineCommand({
  name: "disconnect",
  summary: "Stop a running instance",
  replacement: "postern stop [ID]",
  description: "kubevpn's spelling of postern stop.",
  examples: [["postern disconnect --all", "Stop all your instances"]],
  parser: object({
    named: optional(
      argument(string({ metavar: "ID" }), { description: words("Instance ID (default: default).") }),
    ),
    all: option("--all", { description: words("Stop all your instances.") }),
  }),
  run: ({ named, all }, world, context) =>
    stop.start(
      [...globalsOf(context), ...(all ? ["--all"] : []), ...(named === undefined ? [] : [named])],
      world,
      context,
    ),
});

export const quit: Command = defineCommand({
  name: "quit",
  summary: "Stop all running instances",
  replacement: "postern stop --all",
  description: "kubevpn's spelling of postern stop --all.",
  examples: [["postern quit", "Stop all your instances"]],
  parser: object({}),
  run: (_, world, context) => stop.start([...globalsOf(context), "--all"], world, context),
});

function clusterOptions({ kubeconfig, context = "", namespace }: {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string | undefined;
}): string[] {
  return [`--kubernetes=${context}`, ...each("--kubeconfig", kubeconfig), ...each("--namespace", namespace)];
}

function globalsOf({ globals: { config, logLevel, logFormat, verbosity } }: RunContext): string[] {
  return [
    ...each("--config", config),
    ...each("--log-level", logLevel),
    ...each("--log-format", logFormat),
    ...new Array<string>(verbosity).fill("-v"),
  ];
}

function each(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${name}=${value}`];
}
