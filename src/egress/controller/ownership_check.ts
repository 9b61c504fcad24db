import { PosternError } from "../../words/mod.ts";
import type { KubeObject, ObjectKind, ObjectPlace } from "../../kube/mod.ts";
import { bundleKey } from "../ca_bundle.ts";
import { clusterName, kinds, managedBundle } from "./kinds.ts";
import { foreignOwner } from "./ownership.ts";

/** Throws `config` where another controller looks after these objects: two would undo each other's work for ever. */
export async function expectNoOther(
  { proxy, managed }: { readonly proxy: KubeObject | undefined; readonly managed: KubeObject | undefined },
  read: (kind: ObjectKind, place: ObjectPlace) => Promise<KubeObject | undefined>,
): Promise<void> {
  if (await read(kinds.clusterOperator, { name: "network" })) {
    throw owned('ClusterOperator "network" is there, and its operator looks after them');
  }
  for (const field of ["httpProxy", "httpsProxy", "noProxy", "conditions"]) {
    const owner = proxy && foreignOwner(proxy, ["status", field]);
    if (owner !== undefined) {
      throw owned(`status.${field} of Proxy "${clusterName}" is written by "${owner}"`);
    }
  }
  const owner = managed && foreignOwner(managed, ["data", bundleKey]);
  if (owner !== undefined) {
    const { namespace, name } = managedBundle;
    throw owned(`"${bundleKey}" of ConfigMap ${namespace}/${name} is written by "${owner}"`);
  }
}

function owned(why: string): PosternError {
  return new PosternError("config", `Cannot look after the cluster's proxy and bundle: ${why}`, {
    detail: "owned",
    hint: "leave them to that one, or give --take-over once it is gone",
  });
}
