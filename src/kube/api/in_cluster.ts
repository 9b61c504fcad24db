import type { Files, Process } from "../../world/mod.ts";
import { formatTarget, PosternError } from "../../words/mod.ts";
import type { KubeContext } from "./kube_context.ts";

/** Where the kubelet mounts the token and the certificate authority of a pod's service account. */
const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The cluster in which this process runs as a pod. Signs in with the pod's service account and rereads its
 * token when it rotates.
 */
export async function inClusterContext(
  { files, process }: {
    readonly files: Pick<Files, "readTextIfThere">;
    readonly process: Pick<Process, "env">;
  },
): Promise<KubeContext> {
  const [host, port] = [process.env("KUBERNETES_SERVICE_HOST"), process.env("KUBERNETES_SERVICE_PORT")];
  const read = (name: string) => files.readTextIfThere(`${account}/${name}`, { limit: 1024 * 1024 });
  const server = host && port ? URL.parse(`https://${formatTarget({ host, port: Number(port) })}`) : null;
  if (!server || await read("token") === undefined) {
    throw new PosternError("config", "Cannot choose a cluster: this process does not run in a pod", {
      hint: "name a kubeconfig: --kubeconfig FILE",
    });
  }
  const namespace = (await read("namespace"))?.trim();
  return {
    name: "in-cluster",
    namespace: namespace || "default",
    cluster: { name: "in-cluster", server, ca: { file: `${account}/ca.crt` }, isUnverified: false },
    user: { name: "", tokenFile: `${account}/token` },
  };
}
