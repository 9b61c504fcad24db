import { type ServiceFile, type ServicePlanOptions, servicesName, writtenBy } from "./service_file.ts";

/** The units of a person's systemd: a service, its socket where it starts on demand, a timer where it is asked for. */
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

/** The unit that fetches the catalogue once a day. */
export const timerName = `${servicesName}-update.timer`;

/** Lines under headings. */
type Sections = Readonly<Record<string, readonly string[]>>;

function serviceUnit(
  { isAlways, self, serviceArguments, agent, runtime, kubeconfigs, drain }: ServicePlanOptions,
): Sections {
  return {
    Unit: [
      "Description=postern, one local door into every private network",
      ...(isAlways ? ["StartLimitIntervalSec=60", "StartLimitBurst=5"] : [`Requires=${servicesName}.socket`]),
    ],
    Service: [
      "Type=exec",
      `ExecStart=${commandLine([...self, ...serviceArguments])}`,
      "ExecReload=/bin/kill -HUP $MAINPID",
      ...(isAlways
        // What is wrong with the command or the configuration is still wrong at the next start.
        ? ["Restart=on-failure", "RestartSec=5", "RestartPreventExitStatus=2 4"]
        : []),
      "# The programs that ssh needs go on until the live connections have ended.",
      "KillMode=mixed",
      `TimeoutStopSec=${Math.ceil(drain / 1000) + 15}`,
      "LimitNOFILE=65536",
      ...(agent === undefined ? [] : [`Environment=${agentVariable(agent, runtime)}`]),
      ...kubeconfigLines(kubeconfigs),
      "# No option that needs a user namespace (ProtectSystem, PrivateTmp): root's files would seem to be nobody's,",
      "# and ssh refuses to read such a configuration. No MemoryDenyWriteExecute: JavaScript is compiled while it runs.",
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
    Unit: ["Description=the address of postern, which starts when somebody comes"],
    Socket: [
      ...addresses.map((address) => `ListenStream=${address}`),
      `FileDescriptorName=${servicesName}.socket`,
      "# An address that is missing at log-in (IPv6 switched off) must not keep the others from working.",
      "FreeBind=yes",
    ],
    Install: ["WantedBy=sockets.target"],
  };
}

function updateUnit({ self, updateArguments, kubeconfigs }: ServicePlanOptions): Sections {
  return {
    Unit: ["Description=fetches postern's catalogue"],
    Service: [
      "Type=oneshot",
      `ExecStart=${commandLine([...self, ...updateArguments])}`,
      "# Without a token that is still good it fails, and says so in the journal: nobody has asked for a window.",
      "TimeoutStartSec=120",
      ...kubeconfigLines(kubeconfigs),
      "UMask=0077",
    ],
  };
}

function timerUnit(): Sections {
  return {
    Unit: ["Description=fetches postern's catalogue once a day"],
    Timer: ["OnCalendar=daily", "Persistent=yes", "RandomizedDelaySec=1h"],
    Install: ["WantedBy=timers.target"],
  };
}

function unit(name: string, sections: Sections): string {
  const texts = Object.entries(sections).map(([title, lines]) => `[${title}]\n${lines.join("\n")}\n`);
  const own = `# ${writtenBy}. Your own changes: systemctl --user edit ${name}\n`;
  return `${own}\n${texts.join("\n")}`;
}

/** A command as systemd reads it (systemd.service(5), "Command lines"): `%` and `$` mean something there. */
function commandLine(words: readonly string[]): string {
  return words.map((word) => quoted(word).replaceAll("$", "$$$$")).join(" ");
}

function kubeconfigLines(kubeconfigs: string | undefined): string[] {
  if (kubeconfigs === undefined) return [];
  return [
    "# A service does not have the variables of your shell: this is KUBECONFIG at the installation.",
    `Environment=${quoted(`KUBECONFIG=${kubeconfigs}`)}`,
  ];
}

/** `%t` is the directory that is made anew at each log-in. */
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
