import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { maskedUrl } from "../../config/mod.ts";
import type { Conn } from "../../core/mod.ts";
import { isPosternError } from "../../words/mod.ts";
import { waitingHops, type World } from "../../world/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { instanceOption, wholeNumber, words } from "../line/options.ts";
import { type NcRequest, relayStdio, streamOfInstance, withPatience } from "./nc_stream.ts";
import { demandOneSource, ncTarget } from "./nc_target.ts";

const mostSeconds = 999_999;

export default defineCommand({
  name: "nc",
  summary: "Connect standard input and output to a target",
  description:
    "Works like netcat, but connects through the rules: for ssh's ProxyCommand and for scripts. Uses the running " +
    "instance and needs no listener password; without an instance, postern connects by itself. The end of the input " +
    "closes only the direction to the target. The exit code is 0 when the target ends the connection.",
  examples: [
    ["postern nc %h %p", "As ProxyCommand of ssh: reach a server through the rules"],
    ["postern nc db.example.net 5432", "Connect to a target"],
    ["postern nc -z -w 5 '[2001:db8::1]:22'", "Check whether a port accepts connections, for at most 5 s"],
  ],
  parser: object({
    host: argument(string({ metavar: "HOST" }), {
      description: words("Target name or IP address, or HOST:PORT; IPv6 needs brackets only in HOST:PORT."),
    }),
    port: optional(argument(string({ metavar: "PORT" }), { description: words("Target port.") })),
    wait: optional(option("-w", wholeNumber({ metavar: "SECONDS", min: 0, max: mostSeconds }), {
      description: words("Timeout for connecting, in seconds (default: listen.limits.dial)."),
    })),
    quit: optional(option("-q", wholeNumber({ metavar: "SECONDS", min: -1, max: mostSeconds }), {
      description: words("Exit this many seconds after the end of the input (default: -1, never)."),
    })),
    isProbe: option("-z", { description: words("Exit after connecting, without transferring data.") }),
    closes: option("-N", {
      description: words("No effect, accepted for scripts: nc always passes the end of the input on."),
    }),
    id: instanceOption("Use only this running instance (default: default, or the configuration)."),
  }),
  async run({ host, port, wait, quit, isProbe, id }, world, context) {
    // It may be a pasted URL: the error must not show its password. A host has nothing to mask.
    const masked = maskedUrl(host);
    const request: NcRequest = {
      target: ncTarget(port === undefined ? [masked] : [masked, port]),
      id,
      wait,
      quit: quit === -1 ? undefined : quit,
      isProbe,
    };
    const { signal, globals: { config } } = context;
    demandOneSource({ id, config });
    const limits = { clock: world.clock, signal };
    const conn = config === undefined
      ? await withPatience(request, limits, (options) => throughInstance(world, request, options))
      : undefined;
    if (conn) {
      world.process.keepOnly("nothing");
      return await relayStdio(world, conn, { request, halfCloseLinger: 1000, signal });
    }
    const { dialFromFiles } = await import("../../instance/mod.ts");
    await using dialed = await withPatience(
      request,
      limits,
      ({ signal }) =>
        dialFromFiles(world, config === undefined ? {} : { config }, {
          target: request.target,
          hops: waitingHops(world),
          log: context.log,
          signal,
        }),
    );
    await relayStdio(world, dialed.conn, { request, halfCloseLinger: dialed.halfCloseLinger, signal });
  },
});

/** Connects through the running instance; undefined if none runs and the line names none. */
async function throughInstance(
  world: World,
  request: NcRequest,
  { signal }: Pick<RunContext, "signal">,
): Promise<Conn | undefined> {
  const stream = await streamOfInstance(world, request, { signal });
  if (stream) return stream;
  const { connectInstance } = await import("../../instances/mod.ts");
  const client = await connectInstance(world, request.id ?? "default", { signal }).catch((error) => {
    if (request.id === undefined && isPosternError(error, "refused")) return undefined;
    throw error;
  });
  if (!client) return undefined;
  // It runs an older postern without this request, so its listener has to do.
  const { dialerThroughProxy } = await import("../../http/mod.ts");
  const { http } = await client.env({ credentials: true, signal });
  const dial = dialerThroughProxy(http, { name: `instance "${request.id ?? "default"}"`, world });
  return await dial(request.target, { signal });
}
