import type { CatalogueSettings } from "../../catalogue/mod.ts";
import type { HttpClient } from "../../http/mod.ts";
import type { SignedIn, SignInOptions, SignInParts } from "../../signin/mod.ts";
import type { Dialer, World } from "../../world/mod.ts";
import type { Log } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { type ConfigSource, loadConfig, type LoadedConfig, transportOf, Transports } from "../../plan/mod.ts";

/** How the user signs in. */
export interface SignInMethod {
  readonly log: Log;
  /** Default: with a browser; "none" does not ask the user. */
  readonly method?: "browser" | "device" | "none";
  /** Replaces the registered port. */
  readonly port?: number;
  /** Shows a text to the user; default: on stderr. */
  readonly say?: (text: string) => Promise<void>;
}

/** The catalogues to fetch, and the configuration that lists them. */
export interface CatalogueSources {
  readonly config: LoadedConfig;
  readonly catalogues: readonly CatalogueSettings[];
}

/**
 * The catalogues in the configuration, or the one in the environment if the configuration has no such
 * section.
 */
export async function catalogueSources(
  world: World,
  source: ConfigSource,
  { name, lieutenantUrl }: { name?: string | undefined; lieutenantUrl?: string | undefined } = {},
): Promise<CatalogueSources> {
  const config = await loadConfig(world, { ...source, withoutCatalogues: true });
  const { catalogueOfEnvironment } = await import("../../catalogue/mod.ts");
  const { catalogues: written } = config.settings;
  const named = lieutenantUrl === undefined ? written : written && withAddress(written, lieutenantUrl);
  const ofEnvironment = named ? undefined : catalogueOfEnvironment(
    (variable) => world.process.env(variable),
    lieutenantUrl,
  );
  const all = named ?? (ofEnvironment ? [ofEnvironment] : []);
  if (all.length === 0) {
    throw new PosternError("config", "Cannot find a catalogue: none is configured", {
      hint: "add to the configuration: catalogues: [{ lieutenant: https://api.syn.example.com }]; or set " +
        "LIEUTENANT_URL",
    });
  }
  const catalogues = name === undefined ? all : all.filter((one) => one.name === name);
  if (catalogues.length > 0) return { config, catalogues };
  throw new PosternError(
    "usage",
    `Cannot find the catalogue "${name}": the configuration does not contain it`,
    {
      hint: `use one of: ${all.map(({ name }) => name).join(", ")}`,
    },
  );
}

/** Certificates to trust and the transport to use for a server. */
interface Reach {
  readonly ca?: string;
  readonly dial?: Dialer;
}

/**
 * The catalogues with this URL. A catalogue that is missing from a configuration with catalogues is refused,
 * because it would replace a stored one.
 */
function withAddress(catalogues: readonly CatalogueSettings[], url: string): readonly CatalogueSettings[] {
  const wanted = URL.parse(url)?.href.replace(/\/$/, "");
  const found = catalogues.filter(({ lieutenant }) => lieutenant.href.replace(/\/$/, "") === wanted);
  if (found.length > 0) return found;
  const known = catalogues.map(({ lieutenant }) => lieutenant.origin).join(", ");
  throw new PosternError(
    "usage",
    "Cannot find the catalogue of this API: the configuration does not contain it",
    {
      hint: `use one of: ${known}`,
    },
  );
}

/** One catalogue's API and its sign-in. Disposing closes the connections. */
export class CatalogueAccess implements AsyncDisposable {
  readonly settings: CatalogueSettings;
  readonly client: HttpClient;
  readonly #world: World;
  readonly #method: SignInMethod;
  readonly #provider: Reach;
  readonly #held: AsyncDisposableStack;
  #options: Promise<SignInOptions> | undefined;

  private constructor(
    settings: CatalogueSettings,
    { client, world, method, provider, held }: {
      readonly client: HttpClient;
      readonly world: World;
      readonly method: SignInMethod;
      readonly provider: Reach;
      readonly held: AsyncDisposableStack;
    },
  ) {
    this.settings = settings;
    this.client = client;
    this.#world = world;
    this.#method = method;
    this.#provider = provider;
    this.#held = held;
  }

  static async open(
    world: World,
    settings: CatalogueSettings,
    { config, method }: { readonly config: LoadedConfig; readonly method: SignInMethod },
  ): Promise<CatalogueAccess> {
    const { HttpClient } = await import("../../http/mod.ts");
    await using held = new AsyncDisposableStack();
    let transports: Transports | undefined;
    const through = (via: string): Dialer => {
      transports ??= held.use(new Transports(world, config, { log: method.log }));
      const { transport } = transportOf(transports.plan, { transport: via });
      return (target, options) => transport.dial(target, options);
    };
    const reach = async ({ ca, via }: { ca?: string | undefined; via?: string | undefined }) => {
      return {
        ...(ca !== undefined && { ca: await world.files.readText(ca) }),
        ...(via !== undefined && { dial: through(via) }),
      };
    };
    const { ca, via, oidc } = settings;
    const api = await reach({ ca, via });
    const provider = await reach({ ca: oidc?.ca ?? ca, via: oidc?.via ?? via });
    const { clock, network } = world;
    const { dial, ...trust } = api;
    const client = new HttpClient({ clock, network, dial }, trust);
    return new CatalogueAccess(settings, { client, world, method, provider, held: held.move() });
  }

  /**
   * Calls `use` with a token. Signs in if no stored token is valid, and again if the API rejects the token.
   */
  async withToken<T>(use: (token: string) => Promise<T>, { signal }: { signal: AbortSignal }): Promise<T> {
    const { withSignIn } = await import("../../signin/mod.ts");
    return await this.#reaching(async () =>
      await withSignIn(
        await this.#signInOptions(signal),
        this.#signInParts,
        { signal },
        ({ idToken }) => use(idToken),
      )
    );
  }

  /** Makes the user sign in, even if a token is stored. */
  async signIn({ signal }: { signal: AbortSignal }): Promise<SignedIn & { readonly provider: string }> {
    const { signIn } = await import("../../signin/mod.ts");
    return await this.#reaching(async () => {
      const options = await this.#signInOptions(signal);
      const signedIn = await signIn({ ...options, isAnew: true }, this.#signInParts, { signal });
      return { ...signedIn, provider: new URL(options.discoveryUrl).host };
    });
  }

  /** Removes all sign-ins for this API from the store; the API need not be reachable. */
  async signOut({ signal }: { signal: AbortSignal }): Promise<boolean> {
    const { signOut, TokenCache } = await import("../../signin/mod.ts");
    const { log } = this.#method;
    const { ca } = this.#provider;
    const keys = await new TokenCache(this.#world, log).keysFor(this.settings.lieutenant.href);
    for (const { issuer, clientId, apiUrl } of keys) {
      const options = { apiUrl, clientId, discoveryUrl: issuer, ...(ca !== undefined && { ca }) };
      await signOut(options, this.#signInParts, { signal });
    }
    return keys.length > 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }

  /** Adds a hint to connection failures that have none. */
  async #reaching<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PosternError) || error.hint !== undefined || !lost.has(error.code)) throw error;
      throw error.with({
        hint: `check the URL of the catalogue "${this.settings.name}", and set via if it needs a transport`,
      });
    }
  }

  get #signInParts(): SignInParts {
    const { log, say } = this.#method;
    const { dial } = this.#provider;
    return { world: this.#world, log, dial, say };
  }

  #signInOptions(signal: AbortSignal): Promise<SignInOptions> {
    return this.#options ??= this.#findSignIn(signal);
  }

  /** The sign-in settings from the configuration, completed by the API. */
  async #findSignIn(signal: AbortSignal): Promise<SignInOptions> {
    const { lieutenant, name, oidc } = this.settings;
    const { method = "browser", port } = this.#method;
    const { ca } = this.#provider;
    let clientId = oidc?.clientId;
    let discoveryUrl = oidc?.discoveryUrl?.href;
    if (clientId === undefined || discoveryUrl === undefined) {
      const { discoverLieutenant } = await import("../../catalogue/mod.ts");
      const told = await discoverLieutenant(lieutenant, { client: this.client }, { signal });
      clientId ??= told.oidc?.clientId;
      discoveryUrl ??= told.oidc?.discoveryUrl;
    }
    if (clientId === undefined || discoveryUrl === undefined) {
      throw new PosternError(
        "config",
        `Cannot sign in for the catalogue "${name}": its API names no provider`,
        {
          hint:
            "add to the configuration: oidc: { clientId: …, discoveryUrl: … }; or provide a token: --token-file FILE",
        },
      );
    }
    return {
      apiUrl: lieutenant.href,
      clientId,
      discoveryUrl,
      method,
      ca,
      port,
    };
  }
}

/** The codes of connection failures. */
const lost: ReadonlySet<PosternError["code"]> = new Set([
  "name_not_found",
  "refused",
  "timeout",
  "unreachable",
]);
