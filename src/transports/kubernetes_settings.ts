import {
  choice,
  type Context,
  described,
  either,
  file,
  oneOrMore,
  optional,
  record,
  text,
  transformed,
} from "../config/mod.ts";
import type { KubernetesSettings } from "../kube/mod.ts";
import { networkIn } from "../core/mod.ts";

const domain = (what: string) =>
  text({
    max: 200,
    pattern: /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i,
    describe: what,
  });

const contextName = text({ max: 500 });

const podNetwork = transformed(
  text({ max: 50, describe: "a network such as 10.244.0.0/16" }),
  (written: string, context: Context) => {
    if (networkIn(written, "pods")) return written;
    return void context.report(`must be a network such as 10.244.0.0/16: current value is "${written}"`);
  },
);

const written = record({
  kubeconfig: optional(
    described(
      oneOrMore(file()),
      "The kubeconfig, or several, merged as kubectl does (default: the files of KUBECONFIG, else ~/.kube/config).",
    ),
  ),
  context: optional(described(contextName, "The context (default: the current context).")),
  contexts: optional(
    described(
      either(choice("all"), oneOrMore(contextName)),
      "Several contexts, or `all`; hosts then include their context: NAME.CONTEXT.SUFFIX.",
    ),
  ),
  namespace: optional(
    described(
      text({ max: 63, pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, describe: "the name of a namespace" }),
      "The namespace for names without one (default: the context's namespace).",
    ),
  ),
  clusterDomain: optional(
    described(domain("a domain such as cluster.local"), "The cluster's domain."),
    "cluster.local",
  ),
  suffix: optional(
    described(
      domain("a domain such as lab.internal"),
      "A suffix for names of this cluster, which postern removes first: web.shop.SUFFIX.",
    ),
  ),
  podNetworks: optional(
    described(
      oneOrMore(podNetwork),
      "Networks of the cluster's pods, such as 10.244.0.0/16. postern rejects addresses in them that belong to no pod. Set it if you have no permission to list nodes.",
    ),
  ),
  halfClose: optional(
    described(
      choice("pass", "hold"),
      "`pass` forwards the client's half-close to the pod. `hold` delays it until the pod ends, for container runtimes that cut off the response one second after a half-close.",
    ),
    "pass",
  ),
  externalName: optional(
    described(
      choice("refuse", "dial"),
      "How to treat a Service of type ExternalName: `refuse` rejects it, `dial` connects to its name on the path to the API server.",
    ),
    "refuse",
  ),
}, { describe: "the name of a context, or a mapping with kubeconfig, context, …" });

type Written = ReturnType<typeof written.parse>;

/** `kubernetes: CONTEXT`, or a mapping. */
export const kubernetesSettings = described(
  transformed(
    either(written, transformed(contextName, (context): NonNullable<Written> => ({ ...defaults, context }))),
    readSettings,
  ),
  "Connects into a cluster through its API server, with port-forwards to the pods of its Services.",
);

const defaults = { clusterDomain: "cluster.local", halfClose: "pass", externalName: "refuse" } as const;

function readSettings(
  { kubeconfig, ...read }: NonNullable<Written>,
  context: Context,
): KubernetesSettings | undefined {
  if (read.contexts !== undefined && read.context !== undefined) {
    context.at("contexts").report("cannot be used with context");
    return undefined;
  }
  if (read.contexts !== undefined && read.suffix === undefined) {
    context.at("contexts").report("needs a suffix: hosts have the form NAME.CONTEXT.SUFFIX");
    return undefined;
  }
  return { ...read, kubeconfigs: kubeconfig ?? context.kubeconfigs };
}
