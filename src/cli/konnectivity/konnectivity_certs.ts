import { object } from "@optique/core/constructs";
import { multiple, withDefault } from "@optique/core/modifiers";
import { argument, constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { pathValue, wholeNumber, words } from "../line/options.ts";

export const certsOptions = object({
  action: constant("certs"),
  directory: argument(pathValue("PATH"), {
    description: words("Directory for frontend/ and agent/, each with issued/ and private/."),
  }),
  names: multiple(option("--san", string({ metavar: "NAME" }), {
    description: words(
      "Name or IP address of the servers, in addition to kubernetes, localhost and 127.0.0.1; repeatable.",
    ),
  })),
  days: withDefault(
    option("--days", wholeNumber({ min: 1, max: 36_500, metavar: "NUMBER" }), {
      description: words(
        "Validity of the certificates in days (default: 365); CAs are valid for at least ten years.",
      ),
    }),
    365,
  ),
  renews: option("--renew", {
    description: words(
      "Replace certificates that are in the last third of their validity or lack a name of --san.",
    ),
  }),
  all: option("--all", { description: words("With --renew, replace all certificates.") }),
});

/** `postern konnectivity certs`: writes the CAs, certificates and keys of upstream's examples. */
export async function runCerts(values: InferValue<typeof certsOptions>, world: World): Promise<void> {
  const { directory, names, days, renews, all } = values;
  if (all && !renews) {
    throw new PosternError("usage", "Cannot use --all without --renew");
  }
  const wrong = names.find((name) => !/^(\*\.)?[\w-]+(\.[\w-]+)*$|^[0-9a-fA-F:.]+$/.test(name));
  if (wrong !== undefined) {
    throw new PosternError(
      "usage",
      `Cannot write ${JSON.stringify(wrong)} into a certificate: it is neither a name nor an IP address`,
      {
        hint: "give --san a name or an IP address",
      },
    );
  }
  const { writeCertificates } = await import("../../roles/mod.ts");
  const request = { directory, names, days, ...renews && { renews: all ? "all" as const : "due" as const } };
  for (const { path, notAfter } of await writeCertificates(request, world)) {
    await world.terminal.out(`${path} until ${notAfter.toISOString().slice(0, 10)}\n`);
  }
}
