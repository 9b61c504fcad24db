import { HttpClient } from "../../src/http/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { decodeRequestHead, encodeResponseHead, requestFraming } from "../../src/wire/mod.ts";
import { OpenShiftOAuth } from "./openshift_oauth.ts";
import { ProxyServer } from "./proxy_server.ts";
import { RawClient } from "./raw_client.ts";
import { copyBetween, TargetServer } from "./target_server.ts";
import { testTls } from "./tls_files.ts";
import type { WebAnswer } from "./web_server.ts";

/** The administrator's token of the API server that `Lieutenant` starts. */
const adminToken = "token-of-admin";

const signal = new AbortController().signal;

/**
 * A stand-in for OpenShift's additions to a real Kubernetes API server, at the same address: the OAuth
 * discovery document and the OAuth server. It forwards all other requests to the real server. Tokens are real
 * tokens of a service account. Only its proxy resolves its names, as for a private cluster.
 */
export class OpenShiftApi implements AsyncDisposable {
  readonly oauth: OpenShiftOAuth;
  readonly #kubernetes: string;
  readonly #front: TargetServer;
  readonly #far: ProxyServer;
  #account = "person-1";

  private constructor(kubernetes: string) {
    this.#kubernetes = kubernetes;
    this.oauth = new OpenShiftOAuth(
      () => `https://oauth.apps.example.net:${this.#front.port}`,
      () => this.#newToken(),
    );
    const { cert, key } = testTls.server;
    // The server also sends its authority, like API servers.
    const tls = { cert: `${cert}\n${testTls.ca}`, key };
    const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls });
    this.#front = new TargetServer((client) => this.#serve(client), listener);
    const network = createNetwork();
    const near: typeof network = {
      ...network,
      connect: (endpoint, options) =>
        network.connect("port" in endpoint ? { host: "127.0.0.1", port: endpoint.port } : endpoint, options),
    };
    this.#far = new ProxyServer(near, { host: "127.0.0.1", port: 0 }, { protocol: "http" });
  }

  /** Starts the stand-in for the API server at this address. */
  static async start(kubernetes: string): Promise<OpenShiftApi> {
    const api = new OpenShiftApi(kubernetes);
    await api.account("person-1");
    return api;
  }

  get url(): string {
    return `https://site.example.net:${this.#front.port}`;
  }

  /** The configuration of an instance that routes to this cluster. */
  get config(): string {
    const { endpoint } = this.#far;
    const port = "port" in endpoint ? endpoint.port : 0;
    return `transports: { far: { proxy: { url: "http://127.0.0.1:${port}" } } }\n` +
      "routes: [{ to: [site.example.net, apps.example.net], via: far }]\ndefault: reject\n";
  }

  /** Creates another account and uses it for all later sign-ins. */
  async account(name: string): Promise<void> {
    await this.#admin("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name } });
    this.#account = name;
  }

  /** Opens a page like a browser with the same proxy, follows redirects, and returns the last page's text. */
  async browse(address: string): Promise<string> {
    const network = createNetwork();
    const client = new HttpClient({
      clock: systemClock,
      network,
      dial: ({ port }, options) => network.connect({ host: "127.0.0.1", port }, options),
    }, { ca: testTls.ca });
    let answer = await client.ask({ url: new URL(address) }, { signal });
    while (answer.status === 302) {
      answer = await client.ask({ url: new URL(answer.fields.get("location") ?? "") }, { signal });
    }
    return `${answer.status} ${new TextDecoder().decode(answer.body)}`;
  }

  async #serve(client: RawClient): Promise<void> {
    let seen = new Uint8Array(0);
    let head = decodeRequestHead(seen);
    while (!head) {
      const more = await client.some();
      if (!more) return;
      seen = Uint8Array.from([...seen, ...more]);
      head = decodeRequestHead(seen);
    }
    const { value: { method, target, fields } } = head;
    if (/^\/(?:\.well-known\/oauth-authorization-server|oauth\/)/.test(target)) {
      const framing = requestFraming(head.value);
      const length = framing.kind === "length" ? framing.length : 0;
      let body = seen.subarray(head.used);
      for (let more = body; body.length < length; body = Uint8Array.from([...body, ...more])) {
        more = await client.take(length - body.length);
      }
      const text = new TextDecoder().decode(body);
      await client.send(
        bytesOf(await this.oauth.answer({ method, url: new URL(target, this.url), fields, body: text })),
      );
      return await client.end();
    }
    const [hostname = "", port] = this.#kubernetes.split(":");
    using behind = new RawClient(
      await Deno.connectTls({ hostname, port: Number(port), caCerts: [testTls.ca] }),
    );
    await behind.send(seen);
    await copyBetween(client, behind);
  }

  async #newToken(): Promise<string> {
    const path = `/api/v1/namespaces/default/serviceaccounts/${this.#account}/token`;
    const made = await this.#admin("POST", path, { spec: { expirationSeconds: 3600 } });
    return (made as { status: { token: string } }).status.token;
  }

  async #admin(method: string, path: string, body?: unknown): Promise<unknown> {
    const client = new HttpClient({ clock: systemClock, network: createNetwork() }, { ca: testTls.ca });
    const answer = await client.ask({
      url: new URL(`https://${this.#kubernetes}${path}`),
      method,
      fields: [["Authorization", `Bearer ${adminToken}`], ["Content-Type", "application/json"]],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }, { signal });
    const text = new TextDecoder().decode(answer.body);
    if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#far[Symbol.asyncDispose]();
    await this.#front[Symbol.asyncDispose]();
  }
}

function bytesOf(answer: WebAnswer): Uint8Array<ArrayBuffer> {
  if (answer instanceof Uint8Array) return answer;
  const { status = 200, fields = [], body = "" } = answer === "silent" ? {} : answer;
  const content = new TextEncoder().encode(body);
  const head = encodeResponseHead({
    status,
    fields: [...fields, ["Content-Length", String(content.length)], ["Connection", "close"]],
  });
  return Uint8Array.from([...head, ...content]);
}
