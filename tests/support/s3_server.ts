import { emergencyObjectName } from "../../src/emergency/mod.ts";
import { PeerServer } from "./peer_program.ts";
import { testTls } from "./tls_files.ts";

export interface S3ServerOptions {
  /** A separate directory for the server. */
  readonly directory: string;
  readonly region: string;
  readonly buckets: readonly string[];
  /** Whether it uses TLS with the test certificate. */
  readonly isSecure?: boolean;
}

/** The real S3 gateway versitygw on a directory, with one account. */
export class S3Server implements AsyncDisposable {
  static readonly keys = { access: "AKIAPOSTERN", secret: "secret-of-the-bucket" };
  /** The address of the server. */
  readonly endpoint: string;
  readonly #server: PeerServer;
  readonly #directory: string;

  private constructor(server: PeerServer, directory: string, scheme: string) {
    this.#server = server;
    this.#directory = directory;
    this.endpoint = `${scheme}://${server.address}`;
  }

  static async start(
    path: string,
    { directory, region, buckets, isSecure = false }: S3ServerOptions,
  ): Promise<S3Server> {
    const below = (name: string) => `${directory}/${name}`;
    for (const bucket of buckets) await Deno.mkdir(below(`root/${bucket}`), { recursive: true });
    await Deno.mkdir(below("attributes"));
    await Deno.writeTextFile(below("s3.crt"), testTls.server.cert);
    await Deno.writeTextFile(below("s3.key"), testTls.server.key);
    const server = await PeerServer.start(path, (port) => [
      ...["-listen", `127.0.0.1:${port}`, "-region", region, "-access", S3Server.keys.access],
      ...["-root", below("root"), "-attributes", below("attributes")],
      ...(isSecure ? ["-cert", below("s3.crt"), "-key", below("s3.key")] : []),
    ], { env: { SECRET_KEY: S3Server.keys.secret }, patience: 60_000 });
    return new S3Server(server, directory, isSecure ? "https" : "http");
  }

  /** Stores an object with any name. */
  async put(bucket: string, name: string, content: string): Promise<void> {
    await Deno.writeTextFile(`${this.#directory}/root/${bucket}/${name}`, content);
  }

  /** Stores the emergency credentials of a cluster: an object with these messages. */
  async putSecrets(bucket: string, clusterId: string, messages: readonly string[]): Promise<void> {
    const secrets = messages.map((data) => ({ data }));
    await this.put(bucket, await emergencyObjectName(clusterId), JSON.stringify({ secrets }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}
