import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { FakeLieutenant } from "./fake_lieutenant.ts";
import { OidcServer } from "./oidc_server.ts";
import { type CommandOptions, type Ended, Household } from "./postern_process.ts";

/** A home directory, a Lieutenant API and its identity provider, all on loopback. */
export class Company implements AsyncDisposable {
  readonly home: Household;
  readonly oidc: OidcServer;
  readonly lieutenant: FakeLieutenant;

  private constructor(home: Household) {
    const network = createNetwork();
    const listen = network.listen.bind(network);
    this.home = home;
    this.oidc = new OidcServer(listen({ host: "127.0.0.1", port: 0 }), { clock: systemClock });
    this.lieutenant = new FakeLieutenant({ listen }, { discoveryUrl: this.oidc.discoveryUrl });
    this.lieutenant.clusters = [companyCluster("c-a", "jump1"), companyCluster("c-b", "jump1")];
  }

  static async open(): Promise<Company> {
    const home = await Household.open();
    await Deno.writeTextFile(`${home.directory}/token`, "a-token\n", { mode: 0o600 });
    return new Company(home);
  }

  /** The variable with the API's address, for a home without a configuration. */
  get env(): Readonly<Record<string, string>> {
    return { LIEUTENANT_URL: this.lieutenant.url };
  }

  /** Runs an update without a sign-in. */
  update(...args: string[]): Promise<Ended> {
    return this.updateUnder({}, ...args);
  }

  updateUnder({ env, ...options }: CommandOptions, ...args: string[]): Promise<Ended> {
    const command = ["update", "--token-file", "token", ...args];
    return this.home.run(command, { ...options, env: { ...this.env, ...env } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lieutenant[Symbol.asyncDispose]();
    await this.oidc[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }
}

/** A cluster in the form of the API. */
export interface CompanyCluster {
  readonly id: string;
  readonly tenant: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly dynamicFacts: Readonly<Record<string, unknown>>;
  readonly installURL: string;
}

/** A cluster with a secret in it. */
export function companyCluster(id: string, jumphost: string): CompanyCluster {
  return {
    id,
    tenant: "t-a",
    facts: { jumphost },
    dynamicFacts: { openshiftBaseDomain: `${id}.example.net` },
    installURL: "https://api.example.net/install?token=SECRET",
  };
}
