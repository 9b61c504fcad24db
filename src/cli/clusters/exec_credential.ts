import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { ExecCluster } from "../../signin/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { pathValue, words } from "../line/options.ts";

/** `postern exec-credential`, which our kubeconfigs name as the way to sign in to OpenShift. */
export default defineCommand({
  name: "exec-credential",
  summary: "signs in to OpenShift, as the plugin of our kubeconfigs",
  description:
    "Prints a token as kubectl and its kin want it (ExecCredential): the one of an earlier sign-in while the cluster " +
    "takes it, else a browser is opened at the cluster's own sign-in. The cluster is told by KUBERNETES_EXEC_INFO, or " +
    "by --server. Of several at once one asks you. Where no browser is, give it a token of OpenShift's page for that.",
  examples: [
    ["postern clusters c-lab kubectl get ns", "has kubectl run it"],
    [
      "postern exec-credential --server https://api.c-lab.example.net:6443 --token-file FILE",
      "for a machine without a browser: keeps a token that you have got elsewhere",
    ],
    ["postern exec-credential --server https://api.c-lab.example.net:6443 --show", "prints it on a terminal"],
  ],
  parser: object({
    server: optional(option("--server", string({ metavar: "URL" }), {
      description: words("The API server, where no Kubernetes client tells it."),
    })),
    tokenFile: optional(option("--token-file", pathValue("FILE"), {
      description: words("Keeps the token in this file, - for the standard input, in place of a sign-in."),
    })),
    show: option("--show", { description: words("Allows to print the token on a terminal.") }),
  }),
  async run({ server, tokenFile, show }, world, { globals: { config }, log, signal }) {
    const { execCredential, givenToken, readExecInfo } = await import("../../signin/mod.ts");
    const info = readExecInfo(world.process.env("KUBERNETES_EXEC_INFO"));
    const cluster = clusterOf(info.cluster, server);
    if (tokenFile === undefined) refuseTerminal(world, show);
    const source = tokenFile === "-" ? "input" : { file: tokenFile ?? "" };
    const given = tokenFile === undefined ? undefined : await givenToken(source, world);
    const { clusterCredential } = await import("../../programs/mod.ts");
    const token = await clusterCredential(world, {
      cluster,
      given,
      source: { config },
      log,
      signal,
    });
    // Whoever brings a token does not want to see it.
    if (given === undefined) return await world.terminal.out(execCredential(info.apiVersion, token));
    await world.terminal.err("postern: the cluster takes the token; it is kept until it does not any more\n");
  },
});

function clusterOf(told: ExecCluster | undefined, server: string | undefined): ExecCluster {
  if (told) return told;
  if (server !== undefined) return { server };
  throw new PosternError("usage", "Cannot tell which cluster to sign in to", {
    hint: "postern exec-credential --server URL; or have kubectl run it: postern clusters NAME kubeconfig",
  });
}

function refuseTerminal({ terminal }: World, show: boolean): void {
  if (!terminal.isOutput || show) return;
  throw new PosternError("usage", "Cannot show a token on a terminal", {
    hint: "kubectl runs this by itself; to see the token add --show",
  });
}
