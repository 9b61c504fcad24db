import { parse } from "yaml";
import type { KubeCluster } from "./kube_cluster.ts";
import type { KubeObject } from "./kube_objects.ts";
import { eventually } from "./peer_program.ts";

export interface EgressKindsOptions {
  /** Whether Proxy has `status.conditions`, as in postern's kind; OpenShift's kind drops it. */
  readonly keepsConditions?: boolean;
}

/** Returns the definitions of Proxy, Network and Infrastructure from our manifests, or as in OpenShift. */
export function egressKinds({ keepsConditions = true }: EgressKindsOptions = {}): KubeObject[] {
  return ["infrastructures", "networks", "proxies"].map((name) => {
    const file = new URL(`../../deploy/egress/crds/${name}.yaml`, import.meta.url);
    const kind: KubeObject = parse(Deno.readTextFileSync(file));
    return name === "proxies" && !keepsConditions ? withoutConditions(kind) : kind;
  });
}

/** Creates these kinds in a cluster and waits until it serves them. */
export async function makeEgressKinds(cluster: KubeCluster, options?: EgressKindsOptions): Promise<void> {
  await cluster.apply(...egressKinds(options));
  for (const plural of ["infrastructures", "networks", "proxies"]) {
    await eventually(`the cluster serves ${plural}`, async () => {
      const answer = await cluster.ask("GET", `/apis/config.openshift.io/v1/${plural}`);
      await answer.body?.cancel();
      return answer.ok;
    });
  }
}

interface Definition extends KubeObject {
  readonly spec: {
    readonly versions: {
      additionalPrinterColumns?: unknown;
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: { readonly status: { readonly properties: Record<string, unknown> } };
        };
      };
    }[];
  };
}

function withoutConditions(kind: KubeObject): KubeObject {
  const copy = structuredClone(kind) as Definition;
  for (const version of copy.spec.versions) {
    delete version.additionalPrinterColumns;
    delete version.schema.openAPIV3Schema.properties.status.properties["conditions"];
  }
  return copy;
}
