import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { ExecCluster } from "../../signin/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { pathValue, words } from "../line/options.ts";

/** `postern exec-credential`: the exec plugin that postern writes into kubeconfigs of OpenShift clusters. */
export default defineCommand({
  name: "exec-credential",
  summary: "Sign in to OpenShift as a kubeconfig's exec plugin",
  description:
    "Prints a token as an ExecCredential, for kubectl and other Kubernetes clients. postern reuses the stored token " +
    "while the cluster accepts it, and otherwise opens a browser at the cluster's sign-in page. KUBERNETES_EXEC_INFO " +
    "or --server selects the cluster. When several commands need a sign-in at once, one of them prompts you. Without " +
    "a browser, use --token-file with a token from OpenShift's token page.",
  examples: [
    ["postern clusters c-lab kubectl get ns", "Let kubectl run the plugin"],
    [
      "postern exec-credential --server https://api.c-lab.example.net:6443 --token-file FILE",
      "Store a token that you got on another machine",
    ],
    [
      "postern exec-credential --server https://api.c-lab.example.net:6443 --show",
      "Print the token to a terminal",
    ],
  ],
  parser: object({
    server: optional(option("--server", string({ metavar: "URL" }), {
      description: words("API server (default: the cluster in $KUBERNETES_EXEC_INFO)."),
    })),
    tokenFile: optional(option("--token-file", pathValue("FILE"), {
      description: words("Store the token from this file instead of signing in; - reads stdin."),
    })),
    show: option("--show", { description: words("Allow printing the token to a terminal.") }),
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
    // A user who provides a token does not need to see it again.
    if (given === undefined) return await world.terminal.out(execCredential(info.apiVersion, token));
    await world.terminal.err(
      "postern: the cluster accepts the token; postern stores it until the cluster rejects it\n",
    );
  },
});

function clusterOf(told: ExecCluster | undefined, server: string | undefined): ExecCluster {
  if (told) return told;
  if (server !== undefined) return { server };
  throw new PosternError("usage", "Cannot sign in to a cluster: missing option: --server", {
    hint: "add --server URL, or let kubectl run the plugin: postern clusters NAME kubeconfig",
  });
}

function refuseTerminal({ terminal }: World, show: boolean): void {
  if (!terminal.isOutput || show) return;
  throw new PosternError("usage", "Cannot print a token to a terminal: missing option: --show", {
    hint: "kubectl runs this command itself; to see the token, add --show",
  });
}
