import { type Conn, Deadlines, type Dial, type Dialed, type Log, Tasks } from "../core/mod.ts";
import { formatTarget, normalHost, PosternError, type Target } from "../words/mod.ts";
import type { Listening, World } from "../world/mod.ts";
import {
  type ListenerDeps,
  type PageResponse,
  type Serve,
  serveListener,
  serveMixed,
  serveOnlyPages,
} from "../listeners/mod.ts";

/** The name of the hidden site; the resolver of this machine does not know it. */
export const hiddenName = "intranet.demo.internal";
/** The name of the archive; only the jump host knows it. */
export const archiveName = "archive.demo.internal";
/** A name of a cluster; only the jump host knows it. */
export const shopName = "shop.apps.c-demo01.demo.internal";
/** The text of the hidden site. */
export const greeting = "Hello from the private network.";
/** The size of `/big` in bytes. */
export const bigSize = 4_000_000;

/**
 * The private network of the demo: a website with a name that only this network resolves, and a company proxy
 * in front of it. Both are postern's own listeners on loopback ports.
 */
export class FarSide implements AsyncDisposable {
  readonly #world: World;
  readonly #deps: ListenerDeps;
  readonly #tasks: Tasks;
  readonly #site: Listening;
  readonly #proxy: Listening;
  /** The targets that the proxy received, for the demo's checks. */
  readonly asked: string[] = [];

  constructor(world: World, log: Log) {
    this.#world = world;
    this.#tasks = new Tasks(undefined, (error) => log.error("demo.failed", { reason: String(error) }));
    this.#deps = {
      dial: this.#dial,
      clock: world.clock,
      log,
      deadlines: new Deadlines(world.clock),
      limits: { connections: 256, handshake: 10_000, halfCloseLinger: 5000 },
    };
    this.#site = world.network.listen({ host: "127.0.0.1", port: 0 });
    this.#proxy = world.network.listen({ host: "127.0.0.1", port: 0 });
    this.#tasks.spawn((signal) => serveListener(this.#site, serveSite, this.#deps, { signal }));
    this.#tasks.spawn((signal) => serveListener(this.#proxy, serveMixed, this.#deps, { signal }));
  }

  get proxyPort(): number {
    return portOf(this.#proxy);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#site.close();
    this.#proxy.close();
    await this.#tasks[Symbol.asyncDispose]();
    this.#deps.deadlines[Symbol.dispose]();
  }

  readonly #dial: Dial = async ({ target }, { signal }): Promise<Dialed> => {
    this.asked.push(formatTarget(target));
    const conn = await this.connect(target, { names: [hiddenName], signal });
    return { conn, tally: { up: 0, down: 0 }, finish: () => void conn[Symbol.asyncDispose]() };
  };

  /** Resolves and connects inside the private network, from a place that knows `names`. */
  async connect(
    target: Target,
    { names, signal }: { readonly names: readonly string[]; readonly signal: AbortSignal },
  ): Promise<Conn> {
    if (!names.includes(normalHost(target.host))) {
      throw new PosternError(
        "name_not_found",
        `Cannot resolve "${target.host}": no such name in the private network`,
      );
    }
    if (target.port !== 80) {
      throw new PosternError("refused", `Cannot reach ${formatTarget(target)}: connection refused`);
    }
    return await this.#world.network.connect({ host: "127.0.0.1", port: portOf(this.#site) }, { signal });
  }
}

const serveSite: Serve = (client, messages, deps, { signal }) =>
  serveOnlyPages(client, messages, ({ path }) => Promise.resolve(sitePage(path)), deps, { signal });

function sitePage(path: string): PageResponse {
  const fields = [["Content-Type", "text/plain; charset=utf-8"]] as const;
  if (path === "/") return { status: 200, fields, body: `${greeting}\n` };
  if (path === "/big") return { status: 200, fields, body: new Uint8Array(bigSize).fill(46) };
  return { status: 404, fields, body: "Not here\n" };
}

function portOf({ endpoint }: Listening): number {
  return "port" in endpoint ? endpoint.port : 0;
}
