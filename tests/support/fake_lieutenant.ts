import type { Network } from "../../src/world/mod.ts";
import { jsonAnswer, type WebAnswer, WebServer } from "./web_server.ts";

/** A fake Lieutenant API on any network; the test sets its answers. */
export class FakeLieutenant implements AsyncDisposable {
  readonly url: string;
  clusters: readonly unknown[] = [];
  /** The answer to requests for clusters, instead of the clusters. */
  answer: WebAnswer | undefined;
  /** The accepted tokens. */
  readonly tokens: string[] = [];
  refuses: (token: string) => boolean = () => false;
  readonly #server: WebServer;

  constructor({ listen }: Pick<Network, "listen">, { discoveryUrl, port = 0 }: {
    readonly discoveryUrl: string;
    readonly port?: number;
  }) {
    this.#server = new WebServer(listen({ host: "127.0.0.1", port }), (request) => {
      if (request.url.pathname === "/") {
        return jsonAnswer({ apiVersion: "v0.12.2", oidc: { clientId: "lieutenant", discoveryUrl } });
      }
      const token = (request.fields.get("authorization") ?? "").replace(/^Bearer /, "");
      if (this.refuses(token)) return { status: 500, body: JSON.stringify({ reason: "Unauthorized" }) };
      this.tokens.push(token);
      return this.answer ?? jsonAnswer(this.clusters);
    });
    this.url = `http://127.0.0.1:${this.#server.port}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}
