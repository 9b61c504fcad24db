import {
  choice,
  configError,
  described,
  duration,
  file,
  type Infer,
  isError,
  list,
  optional,
  record,
  refine,
  rootContext,
  type Schema,
  text,
  url,
} from "../config/mod.ts";
import { isLoopbackHost } from "../words/mod.ts";
import { usualDomainFacts } from "./catalogue_routes.ts";

/** The default for `allowExec`: programs that the fact `authInfoFact` may have kubectl start. */
export const usualExec: readonly string[] = ["kubectl", "kubelogin", "kubectl-oidc_login", "oc"];

/** A URL to which a token is sent, so it must be encrypted. */
const secureUrl = () =>
  refine(
    url({ schemes: ["https", "http"] }),
    ({ protocol, hostname }) =>
      protocol === "https:" || isLoopbackHost(hostname)
        ? undefined
        : "must begin with https:// unless the host is this machine",
  );

const settings = record({
  lieutenant: described(secureUrl(), "The URL of a Lieutenant API."),
  name: described(
    optional(
      text({
        pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
        describe: "a name of letters, digits, - . and _",
      }),
      "main",
    ),
    "The name of the catalogue; each catalogue needs a different one.",
  ),
  tenant: described(optional(text()), "Fetch only the clusters of this tenant."),
  refresh: described(
    optional(duration({ min: 60_000, off: true }), 0),
    "How often a running instance fetches the catalogue again, if the sign-in needs no browser; `off` means never.",
  ),
  oidc: described(
    optional(record({
      clientId: described(optional(text()), "The OAuth client id for the sign-in."),
      discoveryUrl: described(
        optional(secureUrl()),
        "The URL of the provider's OpenID Connect discovery document.",
      ),
      ca: described(
        optional(file()),
        "PEM certificates to trust for the sign-in, in addition to the system's; default: the ca of the catalogue.",
      ),
      via: described(
        optional(text()),
        "The transport to the provider; default: the via of the catalogue.",
      ),
    })),
    "How to sign in; the API provides missing values.",
  ),
  domainFacts: described(
    optional(list(text())),
    `The facts that contain hosts to route; default: ${usualDomainFacts.join(", ")}.`,
  ),
  authInfoFact: described(
    optional(text()),
    "The fact with the kubeconfig user that signs in to a cluster (kubeconfig.v1.AuthInfo).",
  ),
  allowExec: described(
    optional(
      list(
        text({ pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/, describe: "the name of a program without a path" }),
      ),
      usualExec,
    ),
    "The programs that the fact in authInfoFact may start.",
  ),
  exclusions: described(
    optional(choice("global", "own"), "global"),
    "Routes that a cluster's jumphostSkipDomains exclude: `global` of all clusters, `own` of this cluster only.",
  ),
  ca: described(
    optional(file()),
    "PEM certificates to trust for the API and its sign-in, in addition to the system's.",
  ),
  via: described(optional(text()), "The transport to the API; default: a direct connection."),
});

export type CatalogueSettings = Infer<typeof settings>;

/** The section `catalogues` of the configuration. */
export function cataloguesSchema(): Schema<readonly CatalogueSettings[]> {
  return refine(list(settings), (catalogues, context) => {
    const names = new Set<string>();
    for (const [index, { name }] of catalogues.entries()) {
      if (names.has(name)) {
        context.at(index).at("name").report(
          `must be unique: another catalogue is named "${name}"`,
        );
      }
      names.add(name);
    }
  });
}

/**
 * The catalogue that the environment names, for a machine without a configuration. An option may replace its
 * URL.
 */
export function catalogueOfEnvironment(
  env: (name: string) => string | undefined,
  address?: string,
): CatalogueSettings | undefined {
  const variable = ["LIEUTENANT_URL", "COMMODORE_API_URL"].find((name) => env(name));
  const lieutenant = address ?? (variable && env(variable));
  if (lieutenant === undefined) return undefined;
  const clientId = env("COMMODORE_OIDC_CLIENT");
  const discoveryUrl = env("COMMODORE_OIDC_DISCOVERY_URL");
  const context = rootContext({ base: "/" });
  const found = settings.parse({
    lieutenant,
    oidc: { ...(clientId && { clientId }), ...(discoveryUrl && { discoveryUrl }) },
  }, context);
  const errors = context.problems.filter(isError);
  if (found && errors.length === 0) return found;
  const option = "--lieutenant-url";
  const named = address === undefined ? variable : option;
  const wrong = errors.map(({ path, message }) => ({
    name: path[0] === "lieutenant" ? named : "COMMODORE_OIDC_DISCOVERY_URL",
    message,
  }));
  const lines = wrong.map(({ name, message }) => `${name}: ${message}`);
  const names = wrong.map(({ name }) => name);
  throw names.includes(option)
    ? configError("these options", lines, { hint: "show the options: postern update --help" })
    : configError("the environment", lines, {
      hint: `correct the variables, or run: unset ${names.join(" ")}`,
    });
}
