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
  context: optional(described(contextName, "Its context; the current one unless it stands here.")),
  contexts: optional(
    described(
      either(choice("all"), oneOrMore(contextName)),
      "Several contexts, or `all`: hosts name theirs behind the Service, NAME.CONTEXT.SUFFIX.",
    ),
  ),
  namespace: optional(
    described(
      text({ max: 63, pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, describe: "the name of a namespace" }),
      "The namespace of names without one; the context's unless it stands here.",
    ),
  ),
  clusterDomain: optional(
    described(domain("a domain such as cluster.local"), "The domain of the cluster itself."),
    "cluster.local",
  ),
  suffix: optional(
    described(
      domain("a domain such as lab.internal"),
      "Stands behind names of this cluster alone, and is taken off first: web.shop.SUFFIX.",
    ),
  ),
  podNetworks: optional(
    described(
      oneOrMore(podNetwork),
      "Networks of the cluster's pods, such as 10.244.0.0/16. postern refuses addresses in them that are no pod's. Set it where the cluster does not let you list nodes.",
    ),
  ),
  halfClose: optional(
    described(
      choice("pass", "hold"),
      "`pass` tells the pod that a client has ended its direction; `hold` keeps that back until the pod has ended, for container runtimes that cut an answer a second after it.",
    ),
    "pass",
  ),
  externalName: optional(
    described(
      choice("refuse", "dial"),
      "What becomes of a Service that is another name: `dial` connects to that name the way the API server is reached.",
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
  "Goes into a cluster through its API server, by port-forwards to the pods behind its Services.",
);

const defaults = { clusterDomain: "cluster.local", halfClose: "pass", externalName: "refuse" } as const;

function readSettings(
  { kubeconfig, ...read }: NonNullable<Written>,
  context: Context,
): KubernetesSettings | undefined {
  if (read.contexts !== undefined && read.context !== undefined) {
    context.at("contexts").report("must not stand beside context");
    return undefined;
  }
  if (read.contexts !== undefined && read.suffix === undefined) {
    context.at("contexts").report("must stand beside a suffix: hosts are called NAME.CONTEXT.SUFFIX");
    return undefined;
  }
  return { ...read, kubeconfigs: kubeconfig ?? context.kubeconfigs };
}
