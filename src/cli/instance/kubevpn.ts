import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import { type Command, defineCommand, type RunContext } from "../line/command.ts";
import { instanceOption, pathValue, words } from "../line/options.ts";
import proxy from "./proxy.ts";
import stop from "./stop.ts";

// The spellings of kubevpn, for who has them in the fingers and in scripts.

const address = string({ metavar: "ADDR:PORT" });

const cluster = {
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("The kubeconfig (default: the files of KUBECONFIG, else ~/.kube/config)."),
  })),
  context: optional(option("--context", string({ metavar: "CONTEXT" }), {
    description: words("Its context (default: the current one)."),
  })),
  namespace: optional(option("--namespace", "-n", string({ metavar: "NAMESPACE" }), {
    description: words("The namespace of names without one (default: the context's)."),
  })),
};

/** `postern proxy-out`. */
export const proxyOut = defineCommand({
  name: "proxy-out",
  summary: "runs a SOCKS door into a cluster, in the foreground",
  description: "What kubevpn calls so: postern proxy --kubernetes with a door for SOCKS only.",
  examples: [[
    "postern proxy-out --listen-socks 127.0.0.1:1080",
    "a door into the current context's cluster",
  ]],
  parser: object({
    listenSocks: optional(option("--listen-socks", address, {
      description: words("Where SOCKS is spoken (default: 127.0.0.1:1080)."),
    })),
    listenHttp: optional(option("--listen-http-connect", address, {
      description: words("Where HTTP CONNECT is spoken besides."),
    })),
    ...cluster,
  }),
  handlesSignals: true,
  async run({ listenSocks = "127.0.0.1:1080", listenHttp, ...cluster }, world, context) {
    const listen = [`--listen-socks=${listenSocks}`, ...each("--listen-http", listenHttp)];
    return await proxy.start([...globalsOf(context), ...listen, ...clusterOptions(cluster)], world, context);
  },
});

/** `postern connect --socks`. */
export const connect = defineCommand({
  name: "connect",
  summary: "leaves a SOCKS door into a cluster running",
  description:
    "What kubevpn calls so: postern proxy --kubernetes --background. Nothing else of the network is changed.",
  examples: [["postern connect --socks", "a door on 127.0.0.1:1080; postern disconnect ID ends it"]],
  parser: object({
    socks: option("--socks", {
      description: words("A SOCKS door: the only kind of connection there is here."),
    }),
    listen: optional(option("--socks-listen", address, {
      description: words("Where SOCKS is spoken (default: 127.0.0.1:1080)."),
    })),
    id: instanceOption("The name of this instance (default: default)."),
    ...cluster,
  }),
  async run({ socks, listen = "127.0.0.1:1080", id, ...cluster }, world, context) {
    if (!socks) {
      throw new PosternError("usage", "Cannot connect the whole network to a cluster: postern is a proxy", {
        hint: "postern connect --socks",
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

/** `postern disconnect`. */
export const disconnect = defineCommand({
  name: "disconnect",
  summary: "ends a running door",
  description: "What kubevpn calls so: postern stop.",
  examples: [["postern disconnect --all", "ends all doors of this user"]],
  parser: object({
    named: optional(
      argument(string({ metavar: "ID" }), { description: words("The instance (default: default).") }),
    ),
    all: option("--all", { description: words("Ends all doors of this user.") }),
  }),
  run: ({ named, all }, world, context) =>
    stop.start(
      [...globalsOf(context), ...(all ? ["--all"] : []), ...(named === undefined ? [] : [named])],
      world,
      context,
    ),
});

/** `postern quit`. */
export const quit: Command = defineCommand({
  name: "quit",
  summary: "ends all running doors",
  description: "What kubevpn calls so: postern stop --all.",
  examples: [["postern quit", "ends all doors of this user"]],
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
