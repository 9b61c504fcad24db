import { type PeerOptions, PeerServer } from "./peer_program.ts";

export interface ProxyAccount {
  readonly user: string;
  readonly password: string;
}

export interface TinyproxyOptions extends PeerOptions {
  /** The loopback address of its outgoing connections. */
  readonly bind?: string;
}

/** Starts Debian's tinyproxy: HTTP CONNECT, with a password if an account is given. */
export async function startTinyproxy(
  path: string,
  directory: string,
  account?: ProxyAccount,
  { bind, ...options }: TinyproxyOptions = {},
): Promise<PeerServer> {
  const file = `${directory}/tinyproxy-${crypto.randomUUID()}.conf`;
  const auth = account ? `BasicAuth ${account.user} ${account.password}\n` : "";
  const from = bind === undefined ? "" : `Bind ${bind}\n`;
  return await PeerServer.start(path, (port) => {
    Deno.writeTextFileSync(
      file,
      `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 5000\nAllow 127.0.0.1\n${auth}${from}`,
    );
    return ["-d", "-c", file];
  }, options);
}

/** A running squid. */
export interface Squid extends AsyncDisposable {
  readonly address: string;
}

/** Starts Debian's squid for every client and target, without a cache, never as root. */
export async function startSquid(
  path: string,
  directory: string,
  { port: portOptions = "", lines = [] }: { readonly port?: string; readonly lines?: readonly string[] } = {},
): Promise<Squid> {
  const file = `${directory}/squid-${crypto.randomUUID()}.conf`;
  const server = await PeerServer.start(path, (port) => {
    const own = [`http_port 127.0.0.1:${port} ${portOptions}`, ...lines];
    Deno.writeTextFileSync(file, `${own.join("\n")}\n${squidLines}`);
    // The name separates its shared memory from that of another squid.
    return ["-N", "-n", `postern${port}`, "-f", file];
  }, { cwd: directory });
  return {
    address: server.address,
    async [Symbol.asyncDispose]() {
      // It removes its shared memory after this signal only.
      server.kill("SIGTERM");
      await server.ended;
      await server[Symbol.asyncDispose]();
    },
  };
}

const squidLines = `http_access allow all
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

/** Starts Debian's microsocks: SOCKS5, with a password if an account is given. */
export async function startMicrosocks(
  path: string,
  account?: ProxyAccount,
  options: PeerOptions = {},
): Promise<PeerServer> {
  const auth = account ? ["-u", account.user, "-P", account.password] : [];
  return await PeerServer.start(path, (port) => ["-i", "127.0.0.1", "-p", `${port}`, ...auth], options);
}

/** Starts Debian's dante: SOCKS5 without a password. */
export async function startDante(path: string, directory: string): Promise<PeerServer> {
  const file = `${directory}/danted-${crypto.randomUUID()}.conf`;
  return await PeerServer.start(path, (port) => {
    Deno.writeTextFileSync(file, danteConfig(port));
    return ["-f", file, "-p", `${file}.pid`];
  });
}

function danteConfig(port: number): string {
  return `
logoutput: stderr
internal: 127.0.0.1 port = ${port}
external: lo
clientmethod: none
socksmethod: none
client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }
socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }
`;
}
