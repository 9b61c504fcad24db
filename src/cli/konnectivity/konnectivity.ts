import { or } from "@optique/core/constructs";
import { command } from "@optique/core/primitives";
import { defineCommand } from "../line/command.ts";
import { agentOptions, runAgent } from "./konnectivity_agent.ts";
import { certsOptions, runCerts } from "./konnectivity_certs.ts";
import { dialOptions, runDial } from "./konnectivity_dial.ts";
import { runServer, serverOptions } from "./konnectivity_server.ts";
import { httpsOptions, runSidecar, socks5Options } from "./konnectivity_sidecar.ts";
import { words } from "../line/options.ts";

/** `postern konnectivity server|agent|dial|certs|socks5|https`. */
export default defineCommand({
  name: "konnectivity",
  summary: "plays a Konnectivity server, agent or proxy, or dials through one",
  description:
    "The far side of the transport konnectivity, with the flags of the programs of Kubernetes: an agent " +
    "inside a cluster dials out to a server, and whoever may speak to the server reaches what the agent reaches. " +
    "Either side works with the other's Go program. socks5 and https are HyperShift's proxies into a guest cluster.",
  examples: [
    [
      "postern konnectivity server --uds-name=/run/front.sock --server-port=0 --cluster-ca-cert=ca.crt --cluster-cert=server.crt --cluster-key=server.key",
      "a server with a socket for clients, and port 8091 for agents",
    ],
    [
      "postern konnectivity agent --proxy-server-host=konn.example.net --ca-cert=ca.crt --agent-cert=agent.crt --agent-key=agent.key",
      "an agent of it",
    ],
    [
      "postern konnectivity dial --proxy-uds=/run/front.sock http://10.0.0.7:8080/healthz",
      "fetches a page through both",
    ],
    [
      "postern konnectivity certs --san=konn.example.net certs",
      "CAs, certificates and keys for all of them",
    ],
    [
      "postern konnectivity socks5 --konnectivity-hostname=konnectivity-server-local --resolve-from-guest-cluster-dns",
      "a SOCKS door on localhost:8090 into the guest cluster that KUBECONFIG names",
    ],
    [
      "postern konnectivity https --serving-port=8092 --health-port=8093",
      "the same for HTTP, with a port for probes",
    ],
  ],
  handlesSignals: true,
  logLevel: "info",
  parser: or(
    command("server", serverOptions, {
      brief: words("Serves clients on one side and agents on the other."),
      description: words(
        "Takes the flags of proxy-server; prints `ready` with the addresses of clients, agents and health.",
      ),
    }),
    command("agent", agentOptions, {
      brief: words("Joins a server and makes the connections that are asked for."),
      description: words("Takes the flags of proxy-agent; the first SIGTERM drains, the second one ends."),
    }),
    command("dial", dialOptions, {
      brief: words("Fetches a page through a server and its agents."),
      description: words("Takes the flags of upstream's test client, or a URL; prints what the page holds."),
    }),
    command("certs", certsOptions, {
      brief: words("Makes CAs, certificates and keys for servers, agents and clients."),
      description: words(
        "Writes what the examples of upstream use: a CA for clients and one for agents, certificates of both " +
          "sides, and keys that nobody else can read.",
      ),
    }),
    command("socks5", socks5Options, {
      brief: words("Serves SOCKS into a guest cluster, beside a program of its control plane."),
      description: words(
        "Takes the flags of HyperShift's konnectivity-socks5-proxy; KUBECONFIG names the guest cluster, whose Services have their names.",
      ),
    }),
    command("https", httpsOptions, {
      brief: words("Serves HTTP into a guest cluster, and through the proxies it has."),
      description: words(
        "Takes the flags of HyperShift's konnectivity-https-proxy; KUBECONFIG names the guest cluster, whose Services have their names.",
      ),
    }),
    { errors: { noMatch: words("Say what to do: server, agent, dial, certs, socks5 or https.") } },
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
