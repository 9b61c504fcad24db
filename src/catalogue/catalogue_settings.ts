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

/** The programs that the fact of `authInfoFact` may have kubectl start, unless told. */
export const usualExec: readonly string[] = ["kubectl", "kubelogin", "kubectl-oidc_login", "oc"];

/** A token goes there: nobody on the way may read it. */
const secureUrl = () =>
  refine(
    url({ schemes: ["https", "http"] }),
    ({ protocol, hostname }) =>
      protocol === "https:" || isLoopbackHost(hostname)
        ? undefined
        : "must begin with https://: without TLS only this machine itself is asked",
  );

const settings = record({
  lieutenant: described(secureUrl(), "The address of a Lieutenant API."),
  name: described(
    optional(
      text({
        pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
        describe: "a name of letters, digits, - . and _",
      }),
      "main",
    ),
    "What the catalogue is called; two of them need two names.",
  ),
  tenant: described(optional(text()), "Only the clusters of this tenant."),
  refresh: described(
    optional(duration({ min: 60_000, off: true }), 0),
    "How often a running door fetches it anew, as long as it needs no browser for that; off unless told.",
  ),
  oidc: described(
    optional(record({
      clientId: described(optional(text()), "The client as which a person signs in."),
      discoveryUrl: described(optional(secureUrl()), "The provider's discovery document."),
      ca: described(
        optional(file()),
        "PEM certificates trusted besides the system's, for the sign-in; those of the API unless told.",
      ),
      via: described(
        optional(text()),
        "The transport through which the provider is reached; that of the API unless told.",
      ),
    })),
    "Where to sign in; what is not said here the API tells.",
  ),
  domainFacts: described(
    optional(list(text())),
    `The facts whose hosts are routed, in the place of ${usualDomainFacts.join(", ")}.`,
  ),
  authInfoFact: described(
    optional(text()),
    "The fact that holds how kubectl signs in to a cluster (kubeconfig.v1.AuthInfo).",
  ),
  allowExec: described(
    optional(
      list(
        text({ pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/, describe: "the name of a program without a path" }),
      ),
      usualExec,
    ),
    "The programs that such a fact may have started.",
  ),
  exclusions: described(
    optional(choice("global", "own"), "global"),
    "Whom a cluster's jumphostSkipDomains count against: the routes of all clusters, or only its own.",
  ),
  ca: described(
    optional(file()),
    "PEM certificates trusted besides the system's, for the API and its sign-in.",
  ),
  via: described(optional(text()), "The transport through which the API is reached; straight unless told."),
});

/** One catalogue of the configuration. */
export type CatalogueSettings = Infer<typeof settings>;

/** The section `catalogues` of the configuration. */
export function cataloguesSchema(): Schema<readonly CatalogueSettings[]> {
  return refine(list(settings), (catalogues, context) => {
    const names = new Set<string>();
    for (const [index, { name }] of catalogues.entries()) {
      if (names.has(name)) {
        context.at(index).at("name").report(
          `must be a name of its own: there is another catalogue "${name}"`,
        );
      }
      names.add(name);
    }
  });
}

/** The catalogue that the environment names, for a machine without configuration; at the address of an option, if any. */
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
    ? configError("these options", lines, { hint: "see postern update --help" })
    : configError("the environment", lines, { hint: `correct it, or: unset ${names.join(" ")}` });
}
