import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { constant, flag, option } from "@optique/core/primitives";
import { choice, string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { listenPort, untilSignals } from "../konnectivity/konnectivity_options.ts";
import { durationValue, pathValue, words } from "../line/options.ts";

/** The options of `postern egress controller`. */
export const controllerOptions = object({
  action: constant("controller"),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("A kubeconfig of the cluster (default: the cluster whose pod this is)."),
  })),
  context: optional(option("--context", string({ metavar: "NAME" }), {
    description: words("Its context (default: the current one)."),
  })),
  namespace: optional(option("--namespace", string({ metavar: "NAME" }), {
    description: words("Where the Lease and the report are (default: where this runs)."),
  })),
  takeOver: withDefault(
    flag("--take-over", {
      description: words("Writes also what another controller has written: only once that one is gone."),
    }),
    false,
  ),
  etcdNames: withDefault(
    flag("--etcd-names", { description: words("Adds the names of etcd's members to the automatic list.") }),
    false,
  ),
  exclude: multiple(option("--exclude", string({ metavar: "ENTRY" }), {
    description: words("An entry of the automatic list to leave out; may be repeated."),
  })),
  proxiesInternalApi: withDefault(
    flag("--proxy-internal-api", {
      description: words("Leaves the API server's internal name out, as hosted control planes may want."),
    }),
    false,
  ),
  systemTrust: withDefault(
    option("--system-trust", choice(["include", "omit"]), {
      description: words("Whether the bundle has what this system trusts too (default: include)."),
    }),
    "include",
  ),
  probeTimeout: withDefault(
    option("--probe-timeout", durationValue(), {
      description: words("For one attempt at a readiness endpoint, of three (default: 10s)."),
    }),
    10_000,
  ),
  healthPort: listenPort("--health-port", 8094, "The port of /healthz, /readyz and /metrics."),
  healthAddress: withDefault(
    option("--health-host", string({ metavar: "ADDR" }), {
      description: words("Where that listens (default: every address)."),
    }),
    "",
  ),
  lease: withDefault(
    option("--lease-duration", durationValue(), {
      description: words("How long other replicas wait for one that is gone (default: 15s)."),
    }),
    15_000,
  ),
});

/** `postern egress controller`. */
export async function runController(
  values: InferValue<typeof controllerOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  const { kubeconfig, context, namespace, lease, takeOver, etcdNames, exclude, proxiesInternalApi } = values;
  if (context !== undefined && kubeconfig === undefined) {
    throw new PosternError("usage", "Cannot use --context: there is no --kubeconfig that it could be of", {
      hint: "add --kubeconfig FILE, or leave it out in the cluster",
    });
  }
  if (lease < 3_000) {
    throw new PosternError("usage", "Cannot use --lease-duration: it must be 3s or more");
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
      // As client-go's: 15, 10 and 2 seconds.
      lease: { lease, renew: Math.round(lease * 2 / 3), retry: Math.round(lease * 2 / 15) },
    },
    world,
    {
      log,
      // The first signal gives the leadership back, the second one ends.
      draining: signals.first,
      signal: signals.second,
      onReady: ({ health }) => world.terminal.out(`ready ${health}\n`),
    },
  );
}
