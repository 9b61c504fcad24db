import { or } from "@optique/core/constructs";
import { command } from "@optique/core/primitives";
import { defineCommand } from "../line/command.ts";
import { checkOptions, runCheck } from "./egress_check.ts";
import { controllerOptions, runController } from "./egress_controller.ts";
import { noProxyOptions, runNoProxy } from "./egress_no_proxy.ts";
import { words } from "../line/options.ts";
import { renderOptions, runRender } from "./egress_render.ts";

/** `postern egress check|no-proxy|render|controller`. */
export default defineCommand({
  name: "egress",
  summary: "looks after a cluster's outbound proxy",
  description:
    "A cluster's outbound proxy is one object, Proxy/cluster of config.openshift.io. It is checked and tried before " +
    "it is believed, and then handed out, with its bundle of certificates, to whoever asks for it.",
  examples: [
    ["postern egress check proxy.yaml --live", "would this proxy be accepted, and do its endpoints answer"],
    ["postern egress check --install-config install-config.yaml", "the same before there is a cluster"],
    ["postern egress no-proxy --kubeconfig admin.kubeconfig", "what goes past the proxy of a cluster"],
    [
      "postern egress no-proxy --list .svc,10.0.0.0/8 --for-url http://10.1.2.3/ --for-url http://svc/",
      "which client would go past the proxy",
    ],
    ["postern egress render deployment.yaml --proxy proxy.yaml", "what would be injected into it"],
    [
      "postern egress render --install-config install-config.yaml --with-credentials > manifests.yaml",
      "what a cluster begins with",
    ],
    ["postern egress controller", "in a pod: looks after the proxy of its cluster"],
    [
      "postern egress controller --kubeconfig admin.kubeconfig --namespace postern-egress",
      "the same from outside",
    ],
  ],
  handlesSignals: true,
  logLevel: "info",
  parser: or(
    command("check", checkOptions, {
      brief: words("Checks a proxy before it is applied."),
      description: words(
        "Every problem and every warning at once, each with its place; --live asks the readiness endpoints through " +
          "the proposed proxy, with the proposed CA. The exit code is 7 when it would be refused.",
      ),
    }),
    command("no-proxy", noProxyOptions, {
      brief: words("Prints what goes past the proxy, and what each client makes of it."),
      description: words(
        "The list of a cluster, of an install-config, or of what the options say of a platform. With --for-url: what " +
          "Go, curl, Deno and Python do with each URL by that list.",
      ),
    }),
    command("render", renderOptions, {
      brief: words("Shows what would be injected, as a diff."),
      description: words(
        "What the objects of a FILE would become by a proxy, of a file or of a cluster. With --install-config and no " +
          "FILE: the manifests that a cluster begins with. Nothing is written.",
      ),
    }),
    command("controller", controllerOptions, {
      brief: words("Looks after Proxy/cluster, in a pod or with a kubeconfig."),
      description: words(
        "Checks and tries each change of Proxy/cluster, accepts it together with its bundle, and hands both out; " +
          "prints `ready` with the address of its health pages. Of several replicas one works.",
      ),
    }),
    { errors: { noMatch: words("Say what to do: check, no-proxy, render or controller.") } },
  ),
  async run(values, world, context) {
    if (values.action === "check") return await runCheck(values, world, context);
    if (values.action === "no-proxy") return await runNoProxy(values, world, context);
    if (values.action === "render") return await runRender(values, world, context);
    return await runController(values, world, context);
  },
});
