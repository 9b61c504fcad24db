import { runPeer } from "./peer_program.ts";
import { type Squid, startSquid } from "./real_proxies.ts";

/** The required programs. */
export interface InterceptingPrograms {
  readonly squid: string;
  readonly openssl: string;
}

/**
 * Debian's squid configured like a company's proxy: it terminates TLS with a certificate for 127.0.0.1 from
 * its own CA, and opens a new TLS connection to the site, whose CA it trusts.
 */
export class InterceptingProxy implements AsyncDisposable {
  /** Its CA as PEM. */
  readonly ca: string;
  readonly #server: Squid;

  private constructor(ca: string, server: Squid) {
    this.ca = ca;
    this.#server = server;
  }

  /** Starts a proxy in a separate directory; `siteCa` is a file. */
  static async start(
    { squid, openssl }: InterceptingPrograms,
    { directory, siteCa }: { readonly directory: string; readonly siteCa: string },
  ): Promise<InterceptingProxy> {
    await Deno.mkdir(directory);
    const file = (name: string) => `${directory}/${name}`;
    const sign = async (name: string, args: readonly string[]) => {
      const { code, stderr } = await runPeer(openssl, [
        ...[
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-nodes",
          "-days",
          "2",
        ],
        ...["-keyout", file(`${name}.key`), "-out", file(`${name}.crt`), ...args],
      ]);
      if (code !== 0) throw new Error(`openssl: ${stderr}`);
    };
    await sign("ca", ["-subj", "/CN=interception CA", "-addext", "keyUsage=critical,keyCertSign"]);
    await sign("leaf", [
      ...["-subj", "/CN=127.0.0.1", "-CA", file("ca.crt"), "-CAkey", file("ca.key")],
      ...["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"],
    ]);
    const read = (name: string) => Deno.readTextFile(file(name));
    await Deno.writeTextFile(file("leaf.pem"), `${await read("leaf.crt")}${await read("leaf.key")}`);
    const server = await startSquid(squid, directory, {
      port: `ssl-bump tls-cert=${file("leaf.pem")} generate-host-certificates=off`,
      lines: [
        "ssl_bump bump all",
        `tls_outgoing_options cafile=${siteCa}`,
        // It accepts a certificate for another name, because the sites are addresses.
        "acl other_name ssl_error SQUID_X509_V_ERR_DOMAIN_MISMATCH",
        "sslproxy_cert_error allow other_name",
      ],
    });
    return new InterceptingProxy(await read("ca.crt"), server);
  }

  get address(): string {
    return this.#server.address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
