import { object } from "@optique/core/constructs";
import { multiple, withDefault } from "@optique/core/modifiers";
import { argument, constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { pathValue, wholeNumber, words } from "../line/options.ts";

/** Where certificates go, and what they say. */
export const certsOptions = object({
  action: constant("certs"),
  directory: argument(pathValue("PATH"), {
    description: words("The directory that gets frontend/ and agent/, each with issued/ and private/."),
  }),
  names: multiple(option("--san", string({ metavar: "NAME" }), {
    description: words(
      "A name or an IP address of the servers, besides kubernetes, localhost and 127.0.0.1; may be repeated.",
    ),
  })),
  days: withDefault(
    option("--days", wholeNumber({ min: 1, max: 36_500, metavar: "NUMBER" }), {
      description: words("How long certificates are good for (default: 365); CAs for ten years or more."),
    }),
    365,
  ),
  renews: option("--renew", {
    description: words(
      "Replaces certificates in the last third of their time, or that lack a name of --san.",
    ),
  }),
  all: option("--all", { description: words("With --renew: replaces them all.") }),
});

/** `postern konnectivity certs`: the CAs, certificates and keys of upstream's examples. */
export async function runCerts(values: InferValue<typeof certsOptions>, world: World): Promise<void> {
  const { directory, names, days, renews, all } = values;
  if (all && !renews) {
    throw new PosternError("usage", "Cannot make all certificates anew: --all goes with --renew");
  }
  const wrong = names.find((name) => !/^(\*\.)?[\w-]+(\.[\w-]+)*$|^[0-9a-fA-F:.]+$/.test(name));
  if (wrong !== undefined) {
    throw new PosternError("usage", `Cannot write ${JSON.stringify(wrong)} into a certificate`, {
      hint: "give --san a name or an IP address",
    });
  }
  const { writeCertificates } = await import("../../roles/mod.ts");
  const request = { directory, names, days, ...renews && { renews: all ? "all" as const : "due" as const } };
  for (const { path, notAfter } of await writeCertificates(request, world)) {
    await world.terminal.out(`${path} until ${notAfter.toISOString().slice(0, 10)}\n`);
  }
}
