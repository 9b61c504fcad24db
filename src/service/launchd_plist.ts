import { parseTarget, PosternError } from "../words/mod.ts";
import { type ServiceFile, type ServicePlanOptions, writtenBy } from "./service_file.ts";

export const serviceLabel = "local.postern.proxy";
export const updateLabel = "local.postern.update";

/** The socket's key in the plist; with `inetdCompatibility` no program uses it. */
const socketName = "proxy";

/** The launchd agents of a user. The on-demand form has never run on a Mac. */
export function launchdPlists(home: string, options: ServicePlanOptions): ServiceFile[] {
  const { self, updateArguments, hasTimer, kubeconfigs } = options;
  const file = (label: string, value: Plist): ServiceFile => ({
    path: `${home}/Library/LaunchAgents/${label}.plist`,
    name: label,
    content: plist(value),
  });
  const timer = {
    Label: updateLabel,
    ProgramArguments: [...self, ...updateArguments],
    StartCalendarInterval: { Hour: 8, Minute: 0 },
    ProcessType: "Background",
    ...environment({ KUBECONFIG: kubeconfigs }),
    ...logs(home, updateLabel),
  };
  return [file(serviceLabel, agentEntry(home, options)), ...(hasTimer ? [file(updateLabel, timer)] : [])];
}

function agentEntry(
  home: string,
  { isAlways, self, serviceArguments, addresses, agent, kubeconfigs, drain }: ServicePlanOptions,
): Plist {
  return {
    Label: serviceLabel,
    ProgramArguments: [
      ...self,
      ...serviceArguments,
      // Standard output and error are the socket, as for a program of inetd.
      ...(isAlways ? [] : [`--log-file=${serviceLogFile(home)}`]),
    ],
    LimitLoadToSessionType: "Aqua",
    ProcessType: "Interactive",
    ExitTimeOut: Math.ceil(drain / 1000) + 15,
    SoftResourceLimits: { NumberOfFiles: 65_536 },
    ...environment({ SSH_AUTH_SOCK: agent, KUBECONFIG: kubeconfigs }),
    ...(isAlways
      ? { RunAtLoad: true, KeepAlive: true, ThrottleInterval: 10, ...logs(home, serviceLabel) }
      : { inetdCompatibility: { Wait: true }, Sockets: { [socketName]: socketOf(addresses) } }),
  };
}

function environment(variables: Readonly<Record<string, string | undefined>>): { [key: string]: Plist } {
  const set = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]]
  );
  return set.length === 0 ? {} : { EnvironmentVariables: Object.fromEntries(set) };
}

/** With `inetdCompatibility` there is one standard input, so only one socket. */
function socketOf(addresses: readonly string[]): Plist {
  const [address, ...more] = addresses.filter((address) => !address.startsWith("["));
  if (address === undefined || more.length > 0) {
    throw new PosternError("config", "Cannot start on demand: launchd passes only one IPv4 socket", {
      hint: "use --always, or set listen.mixed to one address",
    });
  }
  const { host, port } = parseTarget(address);
  return { SockType: "stream", SockFamily: "IPv4", SockNodeName: host, SockServiceName: `${port}` };
}

/** The log file of the service. */
export function serviceLogFile(home: string): string {
  return logOf(home, serviceLabel);
}

function logOf(home: string, label: string): string {
  return `${home}/Library/Logs/${label}.log`;
}

function logs(home: string, label: string): { readonly [key: string]: Plist } {
  const path = logOf(home, label);
  return { StandardOutPath: path, StandardErrorPath: path };
}

type Plist = string | number | boolean | readonly Plist[] | { readonly [key: string]: Plist };

function plist(value: Plist): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${writtenBy} -->
<plist version="1.0">
${element(value, "")}</plist>
`;
}

function element(value: Plist, indent: string): string {
  const deeper = `${indent}  `;
  if (typeof value === "string") return `${indent}<string>${escaped(value)}</string>\n`;
  if (typeof value === "number") return `${indent}<integer>${value}</integer>\n`;
  if (typeof value === "boolean") return `${indent}<${value}/>\n`;
  if (isList(value)) {
    return `${indent}<array>\n${value.map((item) => element(item, deeper)).join("")}${indent}</array>\n`;
  }
  const entries = Object.entries(value).map(([key, item]) =>
    `${deeper}<key>${escaped(key)}</key>\n${element(item, deeper)}`
  );
  return `${indent}<dict>\n${entries.join("")}${indent}</dict>\n`;
}

function isList(value: Plist): value is readonly Plist[] {
  return Array.isArray(value);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
