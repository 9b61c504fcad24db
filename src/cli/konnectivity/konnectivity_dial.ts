import { object } from "@optique/core/constructs";
import { multiple, optional, withDefault } from "@optique/core/modifiers";
import { argument, constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { asPosternError, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { expectPlainPorts, ignoredOptions, listenPort } from "./konnectivity_options.ts";
import { oneOf, pathValue, wholeNumber, words } from "../line/options.ts";

/** The flags of upstream's test client, or a URL. */
export const dialOptions = object({
  action: constant("dial"),
  url: optional(
    argument(string({ metavar: "URL" }), {
      description: words("URL to fetch, such as http://HOST:PORT/PATH."),
    }),
  ),
  mode: withDefault(
    option("--mode", oneOf(["grpc", "http-connect"], "MODE"), {
      description: words("Protocol of the server's frontend: grpc or http-connect (default: grpc)."),
    }),
    "grpc" as const,
  ),
  host: withDefault(
    option("--proxy-host", string({ metavar: "HOST" }), {
      description: words("Host of the server (default: localhost)."),
    }),
    "localhost",
  ),
  port: listenPort("--proxy-port", 8090, "Port of the server's frontend"),
  socket: optional(
    option("--proxy-uds", pathValue("PATH"), {
      description: words("Unix socket of the frontend, instead of host and port."),
    }),
  ),
  ca: optional(
    option("--ca-cert", pathValue("FILE"), { description: words("CA certificates of the frontend.") }),
  ),
  cert: optional(
    option("--client-cert", pathValue("FILE"), { description: words("Client certificate.") }),
  ),
  key: optional(
    option("--client-key", pathValue("FILE"), { description: words("Key of the client certificate.") }),
  ),
  requestHost: withDefault(
    option("--request-host", string({ metavar: "HOST" }), {
      description: words("Target host of the request (default: localhost)."),
    }),
    "localhost",
  ),
  requestPort: listenPort("--request-port", 8000, "Target port of the request"),
  requestPath: withDefault(
    option("--request-path", string({ metavar: "PATH" }), {
      description: words("Path of the request (default: success)."),
    }),
    "success",
  ),
  count: withDefault(
    option("--test-requests", wholeNumber({ min: 1, max: 10_000, metavar: "NUMBER" }), {
      description: words("Number of requests, all at once (default: 1)."),
    }),
    1,
  ),
  proto: withDefault(
    option("--request-proto", oneOf(["http", "https"], "PROTO"), {
      description: words("Protocol of the request: http, or https with the system's CAs (default: http)."),
    }),
    "http" as const,
  ),
  delay: withDefault(
    option("--test-delay", wholeNumber({ min: 0, max: 86_400, metavar: "SECONDS" }), {
      description: words(
        "Seconds that each connection but the last stays open after its request (default: 0).",
      ),
    }),
    0,
  ),
  after: withDefault(
    option("--after-delay", wholeNumber({ min: 0, max: 86_400, metavar: "SECONDS" }), {
      description: words("Seconds to wait after all requests (default: 0)."),
    }),
    0,
  ),
  ignored: multiple(ignoredOptions(["--close-idle-conn", "--enable-http2-healthchecks", "--user-agent"])),
});

/** `postern konnectivity dial`: fetches pages through a server and prints them. */
export async function runDial(
  values: InferValue<typeof dialOptions>,
  world: World,
  { log, signal }: RunContext,
): Promise<void> {
  expectPlainPorts({ "--request-port": values.requestPort, "--proxy-port": values.port });
  const { fetchThroughKonnectivity } = await import("../../roles/mod.ts");
  const { socket, ca, cert, key } = values;
  const path = values.requestPath.replace(/^\/*/, "/");
  const isSocket = socket !== undefined && socket !== "";
  const { pages, failures } = await fetchThroughKonnectivity(
    {
      mode: values.mode,
      server: isSocket ? { path: socket } : { target: { host: values.host, port: values.port } },
      ...!isSocket && ca !== undefined && { ca },
      ...!isSocket && cert !== undefined && { cert },
      ...!isSocket && key !== undefined && { key },
    },
    {
      url: values.url ?? `${values.proto}://${values.requestHost}:${values.requestPort}${path}`,
      count: values.count,
      delay: values.delay * 1000,
      after: values.after * 1000,
    },
    world,
    { log, signal },
  );
  for (const page of pages) await world.terminal.out(page);
  const [failure] = failures;
  if (failures.length < 2 && failure !== undefined) throw failure;
  if (failures.length > 1) {
    const { code, message, hint } = asPosternError(failure);
    const all = pages.length + failures.length;
    throw new PosternError(
      code,
      `${failures.length} of ${all} requests failed; the first error: ${message}`,
      {
        cause: failure,
        hint,
      },
    );
  }
}
