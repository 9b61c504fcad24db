import { or } from "@optique/core/constructs";
import { command } from "@optique/core/primitives";
import { defineCommand } from "../line/command.ts";
import { agentOptions, runAgent } from "./konnectivity_agent.ts";
import { certsOptions, runCerts } from "./konnectivity_certs.ts";
import { dialOptions, runDial } from "./konnectivity_dial.ts";
import { runServer, serverOptions } from "./konnectivity_server.ts";
import { httpsOptions, runSidecar, socks5Options } from "./konnectivity_sidecar.ts";
import { words } from "../line/options.ts";

export default defineCommand({
  name: "konnectivity",
  summary: "Run a Konnectivity server, agent, proxy or client",
  description:
    "Runs the programs of the Kubernetes project apiserver-network-proxy with their flags: an agent inside a cluster " +
    "dials out to a server, and clients of the server reach the agent's network. postern's transport konnectivity is " +
    "such a client. Each role also works with the Go programs. socks5 and https are HyperShift's proxies into a guest " +
    "cluster.",
  examples: [
    [
      "postern konnectivity server --uds-name=/run/front.sock --server-port=0 --cluster-ca-cert=ca.crt --cluster-cert=server.crt --cluster-key=server.key",
      "Run a server with a socket for clients and port 8091 for agents",
    ],
    [
      "postern konnectivity agent --proxy-server-host=konn.example.net --ca-cert=ca.crt --agent-cert=agent.crt --agent-key=agent.key",
      "Run an agent that connects to this server",
    ],
    [
      "postern konnectivity dial --proxy-uds=/run/front.sock http://10.0.0.7:8080/healthz",
      "Fetch a page through a server and one of its agents",
    ],
    [
      "postern konnectivity certs --san=konn.example.net certs",
      "Create the CAs, certificates and keys",
    ],
    [
      "postern konnectivity socks5 --konnectivity-hostname=konnectivity-server-local --resolve-from-guest-cluster-dns",
      "Listen for SOCKS on localhost:8090, for the guest cluster in KUBECONFIG",
    ],
    [
      "postern konnectivity https --serving-port=8092 --health-port=8093",
      "Listen for HTTP, with a port for probes",
    ],
  ],
  handlesSignals: true,
  logLevel: "info",
  parser: or(
    command("server", serverOptions, {
      brief: words("Run a server for clients and agents."),
      description: words(
        "Accepts the flags of proxy-server. Prints `ready` with the addresses for clients, agents and health checks.",
      ),
    }),
    command("agent", agentOptions, {
      brief: words("Run an agent that connects to targets for a server."),
      description: words("Accepts the flags of proxy-agent. The first SIGTERM drains, the second one exits."),
    }),
    command("dial", dialOptions, {
      brief: words("Fetch a page through a server and its agents."),
      description: words("Accepts the flags of upstream's test client, or a URL. Prints the response body."),
    }),
    command("certs", certsOptions, {
      brief: words("Create CAs, certificates and keys for servers, agents and clients."),
      description: words(
        "Writes the files that upstream's examples use: one CA for clients and one for agents, certificates for " +
          "both sides, and keys that only you can read.",
      ),
    }),
    command("socks5", socks5Options, {
      brief: words("Run a SOCKS proxy into a guest cluster, as a sidecar of its control plane."),
      description: words(
        "Accepts the flags of HyperShift's konnectivity-socks5-proxy. KUBECONFIG names the guest cluster; clients use the names of its Services.",
      ),
    }),
    command("https", httpsOptions, {
      brief: words("Run an HTTP proxy into a guest cluster and through its proxies."),
      description: words(
        "Accepts the flags of HyperShift's konnectivity-https-proxy. KUBECONFIG names the guest cluster; clients use the names of its Services.",
      ),
    }),
    { errors: { noMatch: words("Missing argument: server, agent, dial, certs, socks5 or https.") } },
  ),
  async run(values, world, context) {
    if (values.action === "server") await runServer(values, world, context);
    else if (values.action === "agent") await runAgent(values, world, context);
    else if (values.action === "certs") await runCerts(values, world);
    else if (values.action === "socks5" || values.action === "https") {
      await runSidecar(values, world, context);
    } else await runDial(values, world, context);
  },
});
