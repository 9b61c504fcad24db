import assert from "node:assert/strict";
import { HttpClient } from "../../src/http/mod.ts";
import type { Dialer } from "../../src/world/mod.ts";
import { formatTarget } from "../../src/words/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock as clock } from "../../src/runtime/system_clock.ts";
import { FakeLieutenant } from "./fake_lieutenant.ts";
import { farSide } from "./far_side.ts";
import { OidcServer } from "./oidc_server.ts";
import type { Household, Instance, ProgramRuns } from "./postern_process.ts";
import { signInTurn } from "./sign_in_port.ts";
import { TargetServer, tlsFront } from "./target_server.ts";
import { testTls } from "./tls_files.ts";

const inventory = "inventory.localhost:8080",
  login = "login.localhost:8080",
  api = "api.apps.example.net:6443";
const { signal } = new AbortController();

/** The names that the test resolves with the instance's DNS, in order. */
export const livedNames = ["first.far.example", "second.far.example"];

/**
 * A company whose names only its proxy resolves, so that a stored home stays valid on another day and another
 * machine: a Lieutenant, an identity provider, and an API server with a certificate.
 */
export class DistantCompany implements AsyncDisposable {
  readonly oidc: OidcServer;
  readonly lieutenant: FakeLieutenant;
  /** Additional lines and catalogues of the configuration. */
  readonly more = { lines: [] as readonly string[], catalogues: [] as readonly string[] };
  readonly #stack: AsyncDisposableStack;
  readonly #proxy: ReturnType<typeof farSide>;

  private constructor(
    stack: AsyncDisposableStack,
    parts: Pick<DistantCompany, "oidc" | "lieutenant"> & { readonly proxy: ReturnType<typeof farSide> },
  ) {
    this.#stack = stack;
    this.oidc = parts.oidc;
    this.lieutenant = parts.lieutenant;
    this.#proxy = parts.proxy;
  }

  static async open(): Promise<DistantCompany> {
    await using stack = new AsyncDisposableStack();
    const network = createNetwork();
    const listen = network.listen.bind(network);
    const issuer = `http://${login}/oidc`;
    const oidc = stack.use(new OidcServer(listen({ host: "127.0.0.1", port: 0 }), { issuer, clock }));
    // The stored tokens must stay valid for many years.
    oidc.lifetime = 100 * 365 * 86_400;
    const lieutenant = stack.use(new FakeLieutenant({ listen }, { discoveryUrl: oidc.discoveryUrl }));
    lieutenant.clusters = [cluster("c-one"), cluster("c-two")];
    const { cert, key } = testTls.server;
    const silent = stack.use(new TargetServer(async (client) => void await client.some()));
    // The server also sends its authority, like API servers.
    const front = stack.use(tlsFront(silent.address, { cert: `${cert}\n${testTls.ca}`, key }));
    const proxy = stack.use(farSide({
      [inventory]: new URL(lieutenant.url).host,
      [login]: `127.0.0.1:${oidc.port}`,
      [api]: front.address,
    }));
    return new DistantCompany(stack.move(), { oidc, lieutenant, proxy });
  }

  /** Returns a configuration for an instance on these ports. */
  configuration({ port, dns }: { readonly port: number; readonly dns: number }): string {
    return [
      `listen: { mixed: "127.0.0.1:${port}", dns: "127.0.0.1:${dns}" }`,
      "dns: { fakeRange: 10.255.0.0/16 }",
      `transports: { up: { proxy: { url: "socks5h://${this.#proxy.address}" } } }`,
      "routes:",
      "  - { to: [.apps.example.net, .far.example], via: up }",
      "catalogues:",
      ...[`{ lieutenant: "http://${inventory}", via: up, oidc: { via: up } }`, ...this.more.catalogues]
        .map((catalogue) => `  - ${catalogue}`),
      ...this.more.lines,
      "",
    ].join("\n");
  }

  /** Completes a command's sign-in as a user at the address that it prints. */
  async signIn(command: Instance): Promise<void> {
    const network = createNetwork();
    const dial: Dialer = (target, options) =>
      network.connect(
        formatTarget(target) === login ? { host: "127.0.0.1", port: this.oidc.port } : target,
        options,
      );
    const browser = new HttpClient({ clock, network, dial });
    const [, address = ""] = await command.says(/open this address:\n(\S+)\n/);
    const sent = await browser.ask({ url: new URL(address) }, { signal });
    await browser.ask({ url: new URL(sent.fields.get("location") ?? "") }, { signal });
    const { code, stderr } = await command.ended;
    assert.equal(code, 0, stderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function cluster(id: string) {
  return {
    id,
    tenant: "t-a",
    displayName: `Cluster ${id}`,
    facts: { jumphost: "jump.example.net" },
    dynamicFacts: { openshiftBaseDomain: `${id}.example.net`, openshiftApiURL: `https://${api}` },
  };
}

/** The ports of a home's instance. */
export interface LivedPorts {
  readonly port: number;
  readonly dns: number;
}

/**
 * Uses a program like a user until it has stored every kind of file: a sign-in, a catalogue, an authority
 * trusted on first use, DNS addresses, and the previous context of a kubeconfig. Its instance keeps running.
 */
export async function live(
  home: Household,
  postern: ProgramRuns,
  { company, ports }: { readonly company: DistantCompany; readonly ports: LivedPorts },
): Promise<Instance> {
  const { run } = sure(postern);
  await home.configure(company.configuration(ports));
  {
    using _turn = await signInTurn();
    await company.signIn(postern.start(["login", "main"], { env: { POSTERN_BROWSER: "true" } }));
  }
  assert.match(await run("update", "main"), /^catalogue main: 2 clusters/);
  const instance = postern.start(["proxy"]);
  await instance.ready;
  for (const name of livedNames) await addressOf(name, ports);
  await run("kubeconfig", "--trust-on-first-use");
  for (const name of ["c-one", "c-two"]) await run("switch", name);
  return instance;
}

/** The facts of a home that a program prints without network access. */
export interface Known {
  readonly clusters: unknown;
  /** The addresses of `livedNames`. */
  readonly addresses: readonly string[];
  /** The rule for a name of a cluster. */
  readonly because: string;
  /** The certificate authority in the cluster's kubeconfig, in base64. */
  readonly authority: string;
}

/** Collects the facts of a home from a program and its running instance. */
export async function known(postern: ProgramRuns, ports: LivedPorts): Promise<Known> {
  const { run } = sure(postern);
  const addresses: string[] = [];
  for (const name of livedNames) addresses.push(await addressOf(name, ports));
  return {
    clusters: JSON.parse(await run("clusters", "-o", "json")),
    addresses,
    because: /because {2}(.*)/.exec(await run("explain", "x.c-one.example.net"))?.[1] ?? "",
    authority: /certificate-authority-data: "([^"]+)"/.exec(await run("kubeconfig"))?.[1] ?? "",
  };
}

/** Updates with the stored sign-in and switches back to the previous cluster. */
export async function goOn(postern: ProgramRuns, { lieutenant, oidc }: DistantCompany): Promise<void> {
  const { run } = sure(postern);
  const [taken, signedIn] = [lieutenant.tokens.length, oidc.authorizations.length];
  assert.match(
    await run("update", "main", "--no-sign-in"),
    // An earlier version says "nothing has changed".
    /^catalogue main: 2 clusters.*, (?:no changes|nothing has changed) \(/,
  );
  assert.deepEqual([lieutenant.tokens.length, oidc.authorizations.length], [taken + 1, signedIn]);
  await run("switch", "-");
}

/** Runs commands that must succeed and returns their output. */
function sure(postern: ProgramRuns): { run(...args: readonly string[]): Promise<string> } {
  return {
    async run(...args) {
      const { code, stdout, stderr } = await postern.run(args);
      assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
      return stdout;
    },
  };
}

async function addressOf(name: string, { dns }: LivedPorts): Promise<string> {
  const [address = ""] = await Deno.resolveDns(name, "A", { nameServer: { ipAddr: "127.0.0.1", port: dns } });
  return address;
}
