import { type ServiceFile, type ServicePlanOptions, servicesName, writtenBy } from "./service_file.ts";

/** The systemd user units: a service, its socket for starting on demand, and an optional timer. */
export function systemdUnits(directory: string, options: ServicePlanOptions): ServiceFile[] {
  const { isAlways, hasTimer } = options;
  const file = (name: string, sections: Sections): ServiceFile => ({
    path: `${directory}/${name}`,
    name,
    content: unit(name, sections),
  });
  return [
    file(`${servicesName}.service`, serviceUnit(options)),
    ...(isAlways ? [] : [file(`${servicesName}.socket`, socketUnit(options))]),
    ...(hasTimer
      ? [file(`${servicesName}-update.service`, updateUnit(options)), file(timerName, timerUnit())]
      : []),
  ];
}

/** The timer that updates the catalogue once a day. */
export const timerName = `${servicesName}-update.timer`;

/** Lines by section. */
type Sections = Readonly<Record<string, readonly string[]>>;

function serviceUnit(
  { isAlways, self, serviceArguments, agent, runtime, kubeconfigs, drain }: ServicePlanOptions,
): Sections {
  return {
    Unit: [
      "Description=postern, a local proxy into private networks",
      ...(isAlways ? ["StartLimitIntervalSec=60", "StartLimitBurst=5"] : [`Requires=${servicesName}.socket`]),
    ],
    Service: [
      "Type=exec",
      `ExecStart=${commandLine([...self, ...serviceArguments])}`,
      "ExecReload=/bin/kill -HUP $MAINPID",
      ...(isAlways
        // A broken command or configuration stays broken at the next start.
        ? ["Restart=on-failure", "RestartSec=5", "RestartPreventExitStatus=2 4"]
        : []),
      "# Keeps the helper programs of ssh running while live connections drain.",
      "KillMode=mixed",
      `TimeoutStopSec=${Math.ceil(drain / 1000) + 15}`,
      "LimitNOFILE=65536",
      ...(agent === undefined ? [] : [`Environment=${agentVariable(agent, runtime)}`]),
      ...kubeconfigLines(kubeconfigs),
      "# No option that needs a user namespace (ProtectSystem, PrivateTmp): root's files would have another owner,",
      "# and ssh rejects that configuration. No MemoryDenyWriteExecute: JavaScript is compiled at run time.",
      ...hardening,
    ],
    ...(isAlways ? { Install: ["WantedBy=default.target"] } : {}),
  };
}

const hardening = [
  "UMask=0077",
  "NoNewPrivileges=yes",
  "LockPersonality=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "RestrictNamespaces=yes",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "SystemCallArchitectures=native",
  "SystemCallFilter=~@clock @cpu-emulation @debug @module @mount @obsolete @raw-io @reboot @swap",
  "SystemCallErrorNumber=EPERM",
];

function socketUnit({ addresses }: ServicePlanOptions): Sections {
  return {
    Unit: ["Description=postern listening socket"],
    Socket: [
      ...addresses.map((address) => `ListenStream=${address}`),
      `FileDescriptorName=${servicesName}.socket`,
      "# If an address is missing at login (IPv6 disabled), the other addresses still work.",
      "FreeBind=yes",
    ],
    Install: ["WantedBy=sockets.target"],
  };
}

function updateUnit({ self, updateArguments, kubeconfigs }: ServicePlanOptions): Sections {
  return {
    Unit: ["Description=postern catalogue update"],
    Service: [
      "Type=oneshot",
      `ExecStart=${commandLine([...self, ...updateArguments])}`,
      "# Without a valid token the update fails and logs the reason. It never opens a browser.",
      "TimeoutStartSec=120",
      ...kubeconfigLines(kubeconfigs),
      "UMask=0077",
    ],
  };
}

function timerUnit(): Sections {
  return {
    Unit: ["Description=daily postern catalogue update"],
    Timer: ["OnCalendar=daily", "Persistent=yes", "RandomizedDelaySec=1h"],
    Install: ["WantedBy=timers.target"],
  };
}

function unit(name: string, sections: Sections): string {
  const texts = Object.entries(sections).map(([title, lines]) => `[${title}]\n${lines.join("\n")}\n`);
  const own = `# ${writtenBy}. To change it: systemctl --user edit ${name}\n`;
  return `${own}\n${texts.join("\n")}`;
}

/** Quotes a command for systemd (systemd.service(5), "Command lines"), which expands `%` and `$`. */
function commandLine(words: readonly string[]): string {
  return words.map((word) => quoted(word).replaceAll("$", "$$$$")).join(" ");
}

function kubeconfigLines(kubeconfigs: string | undefined): string[] {
  if (kubeconfigs === undefined) return [];
  return [
    "# A service does not inherit the variables of your shell: this is KUBECONFIG at installation time.",
    `Environment=${quoted(`KUBECONFIG=${kubeconfigs}`)}`,
  ];
}

/** `%t` is the runtime directory, which each login creates again. */
function agentVariable(agent: string, runtime: string | undefined): string {
  const below = runtime !== undefined && agent.startsWith(`${runtime}/`)
    ? agent.slice(runtime.length)
    : undefined;
  return below === undefined ? quoted(`SSH_AUTH_SOCK=${agent}`) : `"SSH_AUTH_SOCK=%t${escaped(below)}"`;
}

function quoted(word: string): string {
  return /^[\w@+=:,./$-]+$/.test(word) ? word : `"${escaped(word)}"`;
}

function escaped(word: string): string {
  return word.replaceAll("%", "%%").replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
