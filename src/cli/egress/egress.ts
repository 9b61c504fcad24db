import { or } from "@optique/core/constructs";
import { command } from "@optique/core/primitives";
import { defineCommand } from "../line/command.ts";
import { checkOptions, runCheck } from "./egress_check.ts";
import { controllerOptions, runController } from "./egress_controller.ts";
import { noProxyOptions, runNoProxy } from "./egress_no_proxy.ts";
import { words } from "../line/options.ts";
import { renderOptions, runRender } from "./egress_render.ts";

export default defineCommand({
  name: "egress",
  summary: "Check, render or control a cluster's outbound proxy",
  description:
    "The object Proxy/cluster of config.openshift.io defines a cluster's outbound proxy. postern checks and tests a " +
    "change before it accepts it, and then injects the proxy and its CA bundle into the objects that request them.",
  examples: [
    ["postern egress check proxy.yaml --live", "Check a proxy and its readiness endpoints"],
    [
      "postern egress check --install-config install-config.yaml",
      "Check a proxy before the installation of a cluster",
    ],
    [
      "postern egress no-proxy --kubeconfig admin.kubeconfig",
      "Print the targets that bypass a cluster's proxy",
    ],
    [
      "postern egress no-proxy --list .svc,10.0.0.0/8 --for-url http://10.1.2.3/ --for-url http://svc/",
      "Show which clients would bypass the proxy",
    ],
    ["postern egress render deployment.yaml --proxy proxy.yaml", "Show what postern would inject"],
    [
      "postern egress render --install-config install-config.yaml --with-credentials > manifests.yaml",
      "Print the manifests for a new cluster",
    ],
    ["postern egress controller", "Control the proxy of the cluster, in a pod"],
    [
      "postern egress controller --kubeconfig admin.kubeconfig --namespace postern-egress",
      "Control the proxy from outside the cluster",
    ],
  ],
  handlesSignals: true,
  logLevel: "info",
  parser: or(
    command("check", checkOptions, {
      brief: words("Check a proxy before you apply it."),
      description: words(
        "Prints every problem and warning with its field. --live sends requests to the readiness endpoints through " +
          "the proposed proxy, with the proposed CA. The exit code is 7 when the cluster would reject the proxy.",
      ),
    }),
    command("no-proxy", noProxyOptions, {
      brief: words("Print the noProxy list, and how clients apply it."),
      description: words(
        "Prints the list of a cluster, of an install-config, or of a platform that the options describe. With " +
          "--for-url, shows whether Go, curl, Deno and Python would use the proxy for each URL.",
      ),
    }),
    command("render", renderOptions, {
      brief: words("Show a diff of what postern would inject."),
      description: words(
        "Shows how the proxy of a file or of a cluster would change the objects in FILE. With --install-config and " +
          "no FILE, prints the manifests for a new cluster. Changes nothing.",
      ),
    }),
    command("controller", controllerOptions, {
      brief: words("Control Proxy/cluster, in a pod or with a kubeconfig."),
      description: words(
        "Checks and tests each change of Proxy/cluster, accepts it with its CA bundle, and injects both. Prints " +
          "`ready` with the address of its health endpoints. Only one replica is active at a time.",
      ),
    }),
    { errors: { noMatch: words("Missing argument: check, no-proxy, render or controller.") } },
  ),
  async run(values, world, context) {
    if (values.action === "check") return await runCheck(values, world, context);
    if (values.action === "no-proxy") return await runNoProxy(values, world, context);
    if (values.action === "render") return await runRender(values, world, context);
    return await runController(values, world, context);
  },
});
