import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { constant, flag, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { listenPort, untilSignals } from "../konnectivity/konnectivity_options.ts";
import { durationValue, oneOf, pathValue, words } from "../line/options.ts";

export const controllerOptions = object({
  action: constant("controller"),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("Kubeconfig of the cluster (default: the cluster of this pod)."),
  })),
  context: optional(option("--context", string({ metavar: "NAME" }), {
    description: words("Context of the kubeconfig (default: the current context)."),
  })),
  namespace: optional(option("--namespace", string({ metavar: "NAME" }), {
    description: words("Namespace of the Lease and the report (default: the namespace of this pod)."),
  })),
  takeOver: withDefault(
    flag("--take-over", {
      description: words(
        "Overwrite the fields of another controller; use only after you removed that controller.",
      ),
    }),
    false,
  ),
  etcdNames: withDefault(
    flag("--etcd-names", {
      description: words("Add the names of etcd's members to the automatic noProxy list."),
    }),
    false,
  ),
  exclude: multiple(option("--exclude", string({ metavar: "ENTRY" }), {
    description: words("Entry to leave out of the automatic noProxy list; repeatable."),
  })),
  proxiesInternalApi: withDefault(
    flag("--proxy-internal-api", {
      description: words("Leave the API server's internal name out of the list, for hosted control planes."),
    }),
    false,
  ),
  systemTrust: withDefault(
    option("--system-trust", oneOf(["include", "omit"], "TYPE"), {
      description: words(
        "Include or omit this system's certificate authorities in the bundle (default: include).",
      ),
    }),
    "include",
  ),
  probeTimeout: withDefault(
    option("--probe-timeout", durationValue(), {
      description: words("Timeout of each of the three attempts at a readiness endpoint (default: 10s)."),
    }),
    10_000,
  ),
  healthPort: listenPort("--health-port", 8094, "Port of /healthz, /readyz and /metrics"),
  healthAddress: withDefault(
    option("--health-host", string({ metavar: "ADDR" }), {
      description: words("Listen address of the health port (default: all addresses)."),
    }),
    "",
  ),
  lease: withDefault(
    option("--lease-duration", durationValue(), {
      description: words("Time until another replica takes over from one that failed (default: 15s)."),
    }),
    15_000,
  ),
});

export async function runController(
  values: InferValue<typeof controllerOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  const { kubeconfig, context, namespace, lease, takeOver, etcdNames, exclude, proxiesInternalApi } = values;
  if (context !== undefined && kubeconfig === undefined) {
    throw new PosternError("usage", "Cannot use --context without --kubeconfig", {
      hint: "add --kubeconfig FILE, or omit --context in the cluster",
    });
  }
  if (lease < 3_000) {
    throw new PosternError("usage", "Cannot use --lease-duration: the minimum is 3s");
  }
  const { runEgressController } = await import("../../roles/mod.ts");
  await using signals = untilSignals(world, signal);
  await runEgressController(
    {
      kubeconfig,
      context,
      namespace,
      takesOver: takeOver,
      automatic: { etcdNames, exclude, proxiesInternalApi },
      systemTrust: values.systemTrust,
      probeTimeout: values.probeTimeout,
      health: { host: values.healthAddress, port: values.healthPort },
      // The proportions of client-go: 15, 10 and 2 seconds.
      lease: { lease, renew: Math.round(lease * 2 / 3), retry: Math.round(lease * 2 / 15) },
    },
    world,
    {
      log,
      // The first signal releases the Lease, the second one exits.
      draining: signals.first,
      signal: signals.second,
      onReady: ({ health }) => world.terminal.out(`ready ${health}\n`),
    },
  );
}
