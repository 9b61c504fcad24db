import { Deadlines, type Log, Tasks } from "../core/mod.ts";
import { describe } from "../words/mod.ts";
import type { Listening, World } from "../world/mod.ts";
import { type PageRequest, type PageResponse, serveListener, serveOnlyPages } from "../listeners/mod.ts";
import { clientId, DemoSignIn, jsonAnswer } from "./demo_sign_in.ts";

/** The base domain of the cluster behind the jump host. */
export const clusterDomain = "c-demo01.demo.internal";

/** The clusters of the demo, in Lieutenant's format. */
const clusters = [
  {
    id: "c-demo01",
    tenant: "t-demo",
    displayName: "Demo, behind a jump host",
    facts: { cloud: "demo", jumphost: "jump", jumphostSkipDomains: `public.${clusterDomain}` },
    dynamicFacts: {
      openshiftBaseDomain: clusterDomain,
      openshiftApiURL: `https://api.${clusterDomain}:6443`,
      openshiftConsoleURL: `https://console.apps.${clusterDomain}`,
    },
  },
  {
    id: "c-demo02",
    tenant: "t-demo",
    displayName: "Demo, without a jump host",
    facts: { cloud: "demo" },
    dynamicFacts: { talosApiURL: "https://api.c-demo02.demo.internal:6443" },
  },
];

/**
 * A simulated Lieutenant API with two clusters and an OpenID provider, on a loopback port. It answers only
 * the requests of `postern update`.
 */
export class DemoLieutenant implements AsyncDisposable {
  readonly #tasks: Tasks;
  readonly #listening: Listening;
  readonly #deadlines: Deadlines;
  readonly #signIn: Promise<DemoSignIn>;

  constructor({ clock, network }: Pick<World, "clock" | "network">, log: Log) {
    this.#tasks = new Tasks(undefined, (error) => log.error("demo.failed", { reason: describe(error) }));
    this.#deadlines = new Deadlines(clock);
    this.#listening = network.listen({ host: "127.0.0.1", port: 0 });
    this.#signIn = DemoSignIn.open(`${this.url}/sso`, () => clock.date());
    const deps = {
      dial: () => Promise.reject(new Error("the demo API is not a proxy")),
      clock,
      log,
      deadlines: this.#deadlines,
      limits: { connections: 16, handshake: 10_000, halfCloseLinger: 5000 },
    };
    const pages = (request: PageRequest) => this.#page(request);
    this.#tasks.spawn((signal) =>
      serveListener(
        this.#listening,
        (client, messages, deps, { signal }) => serveOnlyPages(client, messages, pages, deps, { signal }),
        deps,
        { signal },
      )
    );
  }

  /** `http://127.0.0.1:12345` */
  get url(): string {
    const { endpoint } = this.#listening;
    return `http://127.0.0.1:${"port" in endpoint ? endpoint.port : 0}`;
  }

  async #page(request: PageRequest): Promise<PageResponse> {
    const { path, fields } = request;
    const signIn = await this.#signIn;
    if (path === "/") {
      const discoveryUrl = `${this.url}/sso/.well-known/openid-configuration`;
      return jsonAnswer({ apiVersion: "demo", oidc: { clientId, discoveryUrl } });
    }
    if (path === "/clusters") {
      const token = /^Bearer (.+)$/.exec(fields.get("authorization") ?? "")?.[1];
      if (token === undefined) return jsonAnswer({ reason: "missing or malformed jwt" }, 400);
      return signIn.knows(token) ? jsonAnswer(clusters) : jsonAnswer({ reason: "Unauthorized" }, 401);
    }
    const found = path.startsWith("/sso/")
      ? await signIn.page(path.slice("/sso".length), request)
      : undefined;
    return found ?? jsonAnswer({ reason: "not found" }, 404);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening.close();
    await this.#tasks[Symbol.asyncDispose]();
    this.#deadlines[Symbol.dispose]();
  }
}
