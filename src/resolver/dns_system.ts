import { formatTarget, isLoopback, parseIp, PosternError } from "../words/mod.ts";

/** A system resolver that can delegate names to postern. */
export type DnsSystem = "systemd-resolved" | "macos" | "nrpt";

/** The names that the system resolver sends to postern. */
export interface DnsDelegation {
  readonly server: { readonly host: string; readonly port: number };
  /** Each domain includes all names below it. */
  readonly domains: readonly string[];
}

/** A file of the system resolver that delegates names to postern. */
export interface DnsSystemFile {
  readonly path: string;
  readonly content: string;
}

/** The first line of our files; files without it belong to another program. */
export const dnsMark = "# Written by postern dns --apply. postern dns --undo takes it away.";

/** The directories of these files. */
export const dnsDirectories = {
  resolved: "/etc/systemd/resolved.conf.d",
  delegates: "/etc/systemd/dns-delegate.d",
  resolver: "/etc/resolver",
} as const;

/** The systemd version from which systemd-resolved sends a server only its own domains. */
export const delegatesSince = 258;

const domainForm = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/;

/** Whether a text is a domain that is safe in a file name and a file. */
export function isDnsDomain(text: string): boolean {
  return domainForm.test(text);
}

/** Whether an address is a valid loopback address: the system uses no other name server. */
export function isOwnServer({ host, port }: DnsDelegation["server"]): boolean {
  const bytes = parseIp(host);
  return bytes !== undefined && isLoopback(bytes) && Number.isInteger(port) && port > 0 && port < 65_536;
}

/** Allows only loopback addresses and domains in files and commands, from any source. */
function demandPlain({ server, domains }: DnsDelegation): void {
  if (!isOwnServer(server)) {
    throw new PosternError(
      "config",
      `Cannot configure the system resolver: ${
        JSON.stringify(server.host)
      } with port ${server.port} is not a valid loopback address`,
      { hint: "set listen.dns to 127.0.0.1:1053" },
    );
  }
  const odd = domains.find((domain) => !isDnsDomain(domain));
  if (odd === undefined) return;
  throw new PosternError(
    "config",
    `Cannot configure the system resolver: ${JSON.stringify(odd.slice(0, 300))} is not a domain`,
    { hint: "use domains such as corp.example.net" },
  );
}

/** The files for a system. `version` is the systemd version, if known. */
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
  // "~" makes it a routing domain, not a search domain.
  const names = domains.map((domain) => `Domains=~${domain}\n`).join("");
  const section = isDelegate ? "Delegate" : "Resolve";
  return [{
    path: isDelegate
      ? `${dnsDirectories.delegates}/postern.dns-delegate`
      : `${dnsDirectories.resolved}/postern.conf`,
    content: `${dnsMark}\n[${section}]\nDNS=${formatTarget(server)}\n${names}`,
  }];
}

/** PowerShell commands that create rules in the Name Resolution Policy Table, and those that remove them. */
export function nrptCommands(delegation: DnsDelegation): { make: string[]; undo: string[] } {
  demandPlain(delegation);
  const { server: { host, port }, domains } = delegation;
  if (port !== 53) {
    throw new PosternError(
      "config",
      `Cannot use NRPT with port ${port}: Windows queries name servers only on port 53`,
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

/** The server and domains of one of our files; undefined for other files. */
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
