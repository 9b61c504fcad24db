import { formatTarget, isLoopback, parseIp, PosternError } from "../words/mod.ts";

/** What asks a machine's programs' questions, and can be told to ask us. */
export type DnsSystem = "systemd-resolved" | "macos" | "nrpt";

/** Which names are to be asked for here. */
export interface DnsDelegation {
  readonly server: { readonly host: string; readonly port: number };
  /** Each stands for itself and all below it. */
  readonly domains: readonly string[];
}

/** A file of the system that sends questions to us. */
export interface DnsSystemFile {
  readonly path: string;
  readonly content: string;
}

/** Stands first in every file of ours: what has not got it is somebody else's. */
export const dnsMark = "# Written by postern dns --apply. postern dns --undo takes it away.";

/** The directories that such files are in. */
export const dnsDirectories = {
  resolved: "/etc/systemd/resolved.conf.d",
  delegates: "/etc/systemd/dns-delegate.d",
  resolver: "/etc/resolver",
} as const;

/** From this version on systemd-resolved asks a server for some names only, and never for others. */
export const delegatesSince = 258;

const domainForm = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/;

/** Whether a text is a domain that may become the name of a file, or a word in one. */
export function isDnsDomain(text: string): boolean {
  return domainForm.test(text);
}

/** Whether an address is on loopback: the system is sent to no other name server. */
export function isOwnServer({ host, port }: DnsDelegation["server"]): boolean {
  const bytes = parseIp(host);
  return bytes !== undefined && isLoopback(bytes) && Number.isInteger(port) && port > 0 && port < 65_536;
}

/** Only loopback addresses and domains get into files and commands, wherever the wish comes from. */
function demandPlain({ server, domains }: DnsDelegation): void {
  if (!isOwnServer(server)) {
    throw new PosternError(
      "config",
      `Cannot have the system ask ${JSON.stringify(server.host)}: it is no loopback address`,
      { hint: "set listen.dns to 127.0.0.1:1053" },
    );
  }
  const odd = domains.find((domain) => !isDnsDomain(domain));
  if (odd === undefined) return;
  throw new PosternError(
    "config",
    `Cannot have the system ask for ${JSON.stringify(odd.slice(0, 300))}: it is no domain`,
    { hint: "name domains such as corp.example.net" },
  );
}

/** The files for a system. `version` is that of systemd, where it is known. */
export function dnsSystemFiles(
  system: Exclude<DnsSystem, "nrpt">,
  delegation: DnsDelegation,
  { version = 0 }: { version?: number } = {},
): DnsSystemFile[] {
  demandPlain(delegation);
  const { server, domains } = delegation;
  const { host, port } = server;
  if (system === "macos") {
    return domains.map((domain) => ({
      path: `${dnsDirectories.resolver}/${domain}`,
      content: `${dnsMark}\nnameserver ${host}\nport ${port}\n`,
    }));
  }
  const isDelegate = version >= delegatesSince;
  // "~": questions go there, and no name is completed by it.
  const names = domains.map((domain) => `Domains=~${domain}\n`).join("");
  const section = isDelegate ? "Delegate" : "Resolve";
  return [{
    path: isDelegate
      ? `${dnsDirectories.delegates}/postern.dns-delegate`
      : `${dnsDirectories.resolved}/postern.conf`,
    content: `${dnsMark}\n[${section}]\nDNS=${formatTarget(server)}\n${names}`,
  }];
}

/** The commands of PowerShell that make rules of the Name Resolution Policy Table, and those that take them away. */
export function nrptCommands(delegation: DnsDelegation): { make: string[]; undo: string[] } {
  demandPlain(delegation);
  const { server: { host, port }, domains } = delegation;
  if (port !== 53) {
    throw new PosternError(
      "config",
      `Cannot use NRPT with port ${port}: Windows asks name servers on port 53 only`,
      {
        hint: "set listen.dns to 127.0.0.1:53",
      },
    );
  }
  const names = domains.flatMap((domain) => [`"${domain}"`, `".${domain}"`]).join(",");
  return {
    make: [`Add-DnsClientNrptRule -Namespace ${names} -NameServers "${host}" -Comment "postern"`],
    undo: ['Get-DnsClientNrptRule | Where-Object Comment -eq "postern" | Remove-DnsClientNrptRule -Force'],
  };
}

/** The server that a file of ours names, and its domains; undefined for what is not ours. */
export function readDnsSystemFile({ path, content }: DnsSystemFile): DnsDelegation | undefined {
  if (!content.startsWith(dnsMark)) return undefined;
  if (path.includes(`${dnsDirectories.resolver}/`)) {
    const host = /^nameserver (\S+)$/m.exec(content)?.[1];
    const port = /^port ([0-9]+)$/m.exec(content)?.[1];
    const domain = path.slice(path.lastIndexOf("/") + 1);
    return host === undefined ? undefined : { server: { host, port: Number(port ?? 53) }, domains: [domain] };
  }
  const [, bracketed, plain, port] = /^DNS=(?:\[([^\]]+)\]|([^:\s]+)):([0-9]+)$/m.exec(content) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) return undefined;
  const domains = [...content.matchAll(/^Domains=~(\S+)$/gm)].map(([, domain = ""]) => domain);
  return { server: { host, port: Number(port) }, domains };
}
