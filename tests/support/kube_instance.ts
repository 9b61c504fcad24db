import assert from "node:assert/strict";
import { KubeCluster, type KubeClusterOptions } from "./kube_cluster.ts";
import { Household, type Instance } from "./postern_process.ts";
import { runPeer } from "./peer_program.ts";

/** The result of a curl request. */
export interface Fetched {
  readonly body: string;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** curl's exit code: 97 is a refusal by the SOCKS proxy. */
  readonly code: number;
  /** The instance's SOCKS reply. */
  readonly reply: number | undefined;
  /** curl's error output. */
  readonly said: string;
}

/** A real cluster, and a home for the real program with its kubeconfig. */
export class KubeHome implements AsyncDisposable {
  readonly cluster: KubeCluster;
  readonly home: Household;
  readonly #curl: string;

  private constructor(cluster: KubeCluster, home: Household, curl: string) {
    this.cluster = cluster;
    this.home = home;
    this.#curl = curl;
  }

  static async open(
    { kubernetes, curl }: { readonly kubernetes: string; readonly curl: string },
    options: KubeClusterOptions = {},
  ): Promise<KubeHome> {
    const cluster = await KubeCluster.start(kubernetes, options);
    try {
      return new KubeHome(cluster, await Household.open(), curl);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Fetches a URL with `curl --proxy socks5h://INSTANCE URL`. */
  async fetch(instance: Instance, url: string, ...options: readonly string[]): Promise<Fetched> {
    const { code, stdout, stderr } = await runPeer(this.#curl, [
      ...["--silent", "--show-error", "--globoff", "--max-time", "100", "--write-out", "\n%{http_code}"],
      ...["--proxy", `socks5h://${await instance.address()}`, ...options, url],
    ]);
    const at = stdout.lastIndexOf("\n");
    const refused = /\((\d+)\)\s*$/.exec(stderr.trim());
    return {
      body: stdout.slice(0, at),
      status: Number(stdout.slice(at + 1)),
      code,
      reply: code === 97 && refused ? Number(refused[1]) : undefined,
      said: stderr.trim(),
    };
  }

  /**
   * Fails early if the first request through the instance does not return this body, so that the test does
   * not wait for a program that cannot reach the cluster.
   */
  async begins(instance: Instance, url: string, body: string): Promise<void> {
    const fetched = await this.fetch(instance, url);
    assert.equal(fetched.body, body, `${fetched.said}\n${instance.stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

/** A web server on loopback that answers every request with its name. */
export class NamedServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(name: string) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(name, { headers: { connection: "close" } }),
    );
  }

  get address(): string {
    return `127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
