import { PosternError } from "../../words/mod.ts";
import type { KubeObject, ObjectKind, ObjectPlace } from "../../kube/mod.ts";
import { bundleKey } from "../ca_bundle.ts";
import { clusterName, kinds, managedBundle } from "./kinds.ts";
import { foreignOwner } from "./ownership.ts";

/** Throws `config` when another controller manages these objects: two would overwrite each other forever. */
export async function expectNoOther(
  { proxy, managed }: { readonly proxy: KubeObject | undefined; readonly managed: KubeObject | undefined },
  read: (kind: ObjectKind, place: ObjectPlace) => Promise<KubeObject | undefined>,
): Promise<void> {
  if (await read(kinds.clusterOperator, { name: "network" })) {
    throw owned('the operator of ClusterOperator "network" manages them');
  }
  for (const field of ["httpProxy", "httpsProxy", "noProxy", "conditions"]) {
    const owner = proxy && foreignOwner(proxy, ["status", field]);
    if (owner !== undefined) {
      throw owned(`"${owner}" writes status.${field} of Proxy "${clusterName}"`);
    }
  }
  const owner = managed && foreignOwner(managed, ["data", bundleKey]);
  if (owner !== undefined) {
    const { namespace, name } = managedBundle;
    throw owned(`"${owner}" writes "${bundleKey}" of ConfigMap ${namespace}/${name}`);
  }
}

function owned(why: string): PosternError {
  return new PosternError("config", `Cannot manage the cluster's proxy and CA bundle: ${why}`, {
    detail: "owned",
    hint: "do not run this controller, or remove the other one and add --take-over",
  });
}
