import { or } from "@optique/core/constructs";
import { command } from "@optique/core/primitives";
import { defineCommand } from "./command.ts";
import { agentOptions, runAgent } from "./konnectivity_agent.ts";
import { certsOptions, runCerts } from "./konnectivity_certs.ts";
import { dialOptions, runDial } from "./konnectivity_dial.ts";
import { runServer, serverOptions } from "./konnectivity_server.ts";
import { words } from "./options.ts";

/** `postern konnectivity server|agent|dial|certs`. */
export default defineCommand({
  name: "konnectivity",
  summary: "plays a Konnectivity server or agent, or dials through one",
  description:
    "The far side of the transport konnectivity, with the flags of the programs of Kubernetes: an agent " +
    "inside a cluster dials out to a server, and whoever may speak to the server reaches what the agent reaches. " +
    "Either side works with the other's Go program.",
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
    { errors: { noMatch: words("Say what to do: server, agent, dial or certs.") } },
  ),
  async run(values, world, context) {
    if (values.action === "server") await runServer(values, world, context);
    else if (values.action === "agent") await runAgent(values, world, context);
    else if (values.action === "certs") await runCerts(values, world);
    else await runDial(values, world, context);
  },
});
