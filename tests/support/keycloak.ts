import { type HttpAnswer, HttpClient } from "../../src/http/mod.ts";
import type { HttpRequest } from "../../src/http/http_client.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { freePort, PeerServer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";
import { testTls } from "./tls_files.ts";

/** The required peers. */
export const keycloakPeers = ["java", "keycloak", "sh"] as const;

/** Shares read-only files and writes to its own directory. */
const inOwnDirectory =
  'whole=$1; java=$2; shift 2; for name in bin conf lib providers themes; do ln -s "$whole/$name" "$name"; done; exec "$java" "$@"';

/**
 * Keycloak with a realm "lab", the public clients "lieutenant" with device flow and "other", and "brief",
 * whose tokens also name lieutenant and expire after two seconds. The users alice and mallory have the
 * password "password". The start takes half a minute and half a gigabyte: start it once per file.
 */
export class Keycloak implements AsyncDisposable {
  readonly issuer: string;
  /** The registered callback port other than 18000. */
  readonly callbackPort: number;
  readonly #server: PeerServer;
  readonly #directory: string;

  private constructor(server: PeerServer, { directory, callbackPort }: {
    readonly directory: string;
    readonly callbackPort: number;
  }) {
    this.#server = server;
    this.#directory = directory;
    this.callbackPort = callbackPort;
    this.issuer = `https://${server.address}/realms/lab`;
  }

  static async start(
    { java, keycloak, sh }: PeerPaths<typeof keycloakPeers[number]>,
    { tokenLifetime = 3600 }: { readonly tokenLifetime?: number } = {},
  ): Promise<Keycloak> {
    const directory = await Deno.makeTempDir({ prefix: "keycloak-" });
    const callbackPort = freePort();
    try {
      const whole = keycloak.replace(/\/bin\/[^/]*$/, "");
      const imported = `${directory}/data/import`;
      await Deno.mkdir(imported, { recursive: true });
      await Deno.writeTextFile(`${imported}/lab-realm.json`, realm({ callbackPort, tokenLifetime }));
      await Deno.writeTextFile(`${directory}/tls.crt`, testTls.server.cert);
      await Deno.writeTextFile(`${directory}/tls.key`, testTls.server.key);
      const server = await PeerServer.start(sh, (port) => [
        ...["-c", inOwnDirectory, "sh", whole, java],
        ...["-Xms64m", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"],
        ...[`-Dkc.home.dir=${directory}`, "-Djava.util.logging.manager=org.jboss.logmanager.LogManager"],
        ...["-cp", `${directory}/lib/quarkus-run.jar`, "io.quarkus.bootstrap.runner.QuarkusEntryPoint"],
        ...["start", "--optimized", "--import-realm", "--cache=local", "--log-level=warn"],
        ...["--http-host=127.0.0.1", "--http-enabled=false", `--https-port=${port}`],
        ...[
          `--https-certificate-file=${directory}/tls.crt`,
          `--https-certificate-key-file=${directory}/tls.key`,
        ],
        `--hostname=https://127.0.0.1:${port}`,
      ], { cwd: directory, patience: 240_000 });
      return new Keycloak(server, { directory, callbackPort });
    } catch (error) {
      await Deno.remove(directory, { recursive: true });
      throw error;
    }
  }

  get discoveryUrl(): string {
    return `${this.issuer}/.well-known/openid-configuration`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await Deno.remove(this.#directory, { recursive: true });
  }
}

function realm({ callbackPort, tokenLifetime }: {
  readonly callbackPort: number;
  readonly tokenLifetime: number;
}): string {
  const client = (clientId: string, attributes: Readonly<Record<string, string>> = {}) => ({
    clientId,
    enabled: true,
    publicClient: true,
    standardFlowEnabled: true,
    // Exactly these redirects, as registered by Lieutenant's operators.
    redirectUris: ["http://localhost:18000", `http://localhost:${callbackPort}`],
    attributes: { "oauth2.device.authorization.grant.enabled": "true", ...attributes },
    protocolMappers: [{
      name: "also for lieutenant",
      protocol: "openid-connect",
      protocolMapper: "oidc-audience-mapper",
      config: { "included.client.audience": "lieutenant", "id.token.claim": String(clientId === "brief") },
    }],
  });
  const user = (username: string) => ({
    username,
    email: `${username}@example.com`,
    emailVerified: true,
    firstName: username,
    lastName: "Example",
    enabled: true,
    // Keycloak refuses offline tokens to users without this role, which many operators do not grant.
    realmRoles: username === "alice" ? ["offline_access"] : [],
    credentials: [{ type: "password", value: "password", temporary: false }],
  });
  return JSON.stringify({
    realm: "lab",
    enabled: true,
    accessTokenLifespan: tokenLifetime,
    revokeRefreshToken: true,
    refreshTokenMaxReuse: 0,
    clients: [client("lieutenant"), client("other"), client("brief", { "access.token.lifespan": "2" })],
    users: [user("alice"), user("mallory")],
  });
}

/** A scripted browser: keeps cookies, follows redirects, and fills in Keycloak's forms. */
export class KeycloakBrowser {
  readonly #client = new HttpClient({ clock: systemClock, network: createNetwork() }, { ca: testTls.ca });
  readonly #cookies = new Map<string, string>();
  readonly #user: string;

  constructor(user = "alice") {
    this.#user = user;
  }

  /** Opens an address and completes all forms; returns the status and text of the last page. */
  async visit(address: string): Promise<string> {
    let answer = await this.#ask({ url: new URL(address) });
    for (let forms = 0; forms < 5; forms++) {
      const page = textOf(answer);
      const form = this.#form(page);
      const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
      if (!form || action === undefined) break;
      answer = await this.#ask({
        url: new URL(action, answer.url),
        method: "POST",
        body: new URLSearchParams(form).toString(),
        fields: [["Content-Type", "application/x-www-form-urlencoded"]],
      });
    }
    return `${answer.status} ${textOf(answer)}`;
  }

  #form(page: string): Record<string, string> | undefined {
    if (/name="password"/.test(page)) return { username: this.#user, password: "password" };
    const code = /<input[^>]*name="code"[^>]*value="([^"]*)"/.exec(page)?.[1];
    return /name="accept"/.test(page) ? { code: code ?? "", accept: "Yes" } : undefined;
  }

  async #ask(request: HttpRequest): Promise<HttpAnswer> {
    let answer = await this.#askOnce(request);
    for (let hops = 0; hops < 10 && answer.status >= 300 && answer.status < 400; hops++) {
      answer = await this.#askOnce({ url: new URL(answer.fields.get("location") ?? "", answer.url) });
    }
    return answer;
  }

  async #askOnce(request: HttpRequest): Promise<HttpAnswer> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const isKeycloak = request.url.protocol === "https:";
    const fields = [...request.fields ?? [], ...(isKeycloak && cookie ? [["Cookie", cookie] as const] : [])];
    const answer = await this.#client.ask({ ...request, fields }, { signal: new AbortController().signal });
    for (const [name, value] of answer.fields) {
      const [, key = "", content = ""] = /^([^=;]+)=([^;]*)/.exec(value) ?? [];
      if (name.toLowerCase() === "set-cookie" && key !== "") this.#cookies.set(key, content);
    }
    return answer;
  }
}

function textOf({ body }: HttpAnswer): string {
  return new TextDecoder().decode(body);
}
