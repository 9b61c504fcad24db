import type { Files, Process } from "../../world/mod.ts";
import { formatTarget, PosternError } from "../../words/mod.ts";
import type { KubeContext } from "./kube_context.ts";

/** Where the kubelet mounts what a pod signs in with. */
const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The cluster that we run in, as a pod of it: by its own service account, whose token is read again as it rotates. */
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
    throw new PosternError("config", "Cannot tell which cluster is meant: this is no pod of one", {
      hint: "give --kubeconfig FILE",
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
