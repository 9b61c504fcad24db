import { PeerServer, runPeer } from "./peer_program.ts";

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
  readonly #server: PeerServer;

  private constructor(ca: string, server: PeerServer) {
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
    const server = await PeerServer.start(squid, (port) => {
      Deno.writeTextFileSync(file("squid.conf"), configuration(port, { leaf: file("leaf.pem"), siteCa }));
      // The name separates its shared memory from that of another squid.
      return ["-N", "-n", `postern${port}`, "-f", file("squid.conf")];
    }, { cwd: directory });
    return new InterceptingProxy(await read("ca.crt"), server);
  }

  get address(): string {
    return this.#server.address;
  }

  /** Stops squid with a signal that lets it remove its shared memory. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.kill("SIGTERM");
    await this.#server.ended;
    await this.#server[Symbol.asyncDispose]();
  }
}

/** The configuration: no check of addresses in certificates, and never root. */
function configuration(
  port: number,
  { leaf, siteCa }: { readonly leaf: string; readonly siteCa: string },
): string {
  return `
http_port 127.0.0.1:${port} ssl-bump tls-cert=${leaf} generate-host-certificates=off
ssl_bump bump all
tls_outgoing_options cafile=${siteCa}
acl other_name ssl_error SQUID_X509_V_ERR_DOMAIN_MISMATCH
sslproxy_cert_error allow other_name
http_access allow all
cache deny all
cache_effective_user nobody
cache_effective_group nogroup
access_log none
cache_log /dev/null
pid_filename none
netdb_filename none
pinger_enable off
visible_hostname localhost
shutdown_lifetime 0 seconds
`;
}
