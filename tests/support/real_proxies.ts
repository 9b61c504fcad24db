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
