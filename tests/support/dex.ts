import { type HttpAnswer, HttpClient } from "../../src/http/mod.ts";
import type { HttpRequest } from "../../src/http/http_client.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { freePort, PeerServer } from "./peer_program.ts";
import type { Ended, Instance } from "./postern_process.ts";
import { testTls } from "./tls_files.ts";

/** dex with a public client "lieutenant", and the users alice and mallory with the password "password". */
export class Dex implements AsyncDisposable {
  readonly issuer: string;
  /** The registered callback port other than 18000. */
  readonly callbackPort: number;
  readonly #server: PeerServer;

  private constructor(server: PeerServer, callbackPort: number) {
    this.#server = server;
    this.issuer = `https://${server.address}/dex`;
    this.callbackPort = callbackPort;
  }

  /** Starts dex and writes its certificate to `directory`. */
  static async start(path: string, directory: string): Promise<Dex> {
    const [cert, key] = [`${directory}/dex.crt`, `${directory}/dex.key`];
    await Deno.writeTextFile(cert, testTls.server.cert);
    await Deno.writeTextFile(key, testTls.server.key);
    const callback = freePort();
    const redirects = `http://localhost:8000,http://localhost:18000,http://localhost:${callback}`;
    const server = await PeerServer.start(path, (port) => [
      ...["-issuer", `https://127.0.0.1:${port}/dex`, "-redirects", redirects],
      ...["-cert", cert, "-key", key],
    ]);
    return new Dex(server, callback);
  }

  get discoveryUrl(): string {
    return `${this.issuer}/.well-known/openid-configuration`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

/** A scripted browser: follows redirects, fills in dex's forms, and keeps the last page. */
export class ScriptedBrowser {
  readonly #client = new HttpClient(
    { clock: systemClock, network: createNetwork() },
    { ca: testTls.ca },
  );
  readonly #user: string;

  constructor(user = "alice@example.com") {
    this.#user = user;
  }

  /** Opens an address and signs in; returns the status and text of the last page. */
  async visit(address: string): Promise<string> {
    let answer = await this.#ask({ url: new URL(address) });
    for (let page = textOf(answer), forms = 0; forms < 3; page = textOf(answer), forms++) {
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
    const code = /name="user_code"[^>]*value="([^"]+)"/.exec(page)?.[1];
    if (code !== undefined) return { user_code: code };
    return page.includes('name="password"') ? { login: this.#user, password: "password" } : undefined;
  }

  async #ask(request: HttpRequest): Promise<HttpAnswer> {
    const { signal } = new AbortController();
    let answer = await this.#client.ask(request, { signal });
    for (let hops = 0; hops < 10 && answer.status >= 300 && answer.status < 400; hops++) {
      // A redirect from TLS to http://localhost, which only browsers follow.
      const to = new URL(answer.fields.get("location") ?? "", answer.url);
      answer = await this.#client.ask({ url: to }, { signal });
    }
    return answer;
  }
}

/** Completes a command's sign-in as a user at the address that it prints. */
export async function signedInBy(command: Instance, user?: string): Promise<Ended> {
  const [, address = ""] = await command.says(/open this address:\n(\S+)\n/);
  await new ScriptedBrowser(user).visit(address);
  return await command.ended;
}

function textOf({ body }: HttpAnswer): string {
  return new TextDecoder().decode(body);
}
