import type { RecordedStep } from "../../scripts/pictures_terminal.ts";
import { terminalSize } from "../../scripts/pictures_terminal.ts";
import { clusterSurroundings } from "../docs/cluster_surroundings.ts";
import { DocumentRun } from "../docs/document_run.ts";
import { sshSurroundings } from "../docs/network_surroundings.ts";
import type { Start } from "../docs/surroundings.ts";
import { pod, service } from "../support/kube_objects.ts";
import { freePort } from "../support/peer_program.ts";

/** The session that README.md shows, command by command. */
const session: readonly {
  readonly remark?: string;
  readonly command: string;
  /** The picture says how long the command took. */
  readonly isTimed?: boolean;
}[] = [
  { remark: "Two private networks, two rules", command: "cat ~/.config/postern/config.yaml" },
  { remark: "One local port into both", command: "postern proxy --background", isTimed: true },
  {
    remark: "Which path postern takes to a website behind two ssh hosts, and how long each hop takes",
    command: "postern explain --dial intranet.management.example.net:3000",
    isTimed: true,
  },
  {
    remark: "The website itself",
    command: "curl --proxy socks5h://localhost:12000 http://intranet.management.example.net:3000/",
    isTimed: true,
  },
  {
    remark: "A Service in a cluster, by the name that it has there",
    command: "curl --proxy socks5h://localhost:12000 http://productpage.default.svc.cluster.local:9080/",
    isTimed: true,
  },
  {
    remark: "Two downloads in the background",
    command:
      "curl -sx socks5h://localhost:12000 -o backup http://intranet.management.example.net:3000/backup &",
  },
  {
    command:
      "curl -sx socks5h://localhost:12000 -o layer http://registry.shop.svc.cluster.local:5000/layer &",
  },
  { remark: "Watch them", command: "postern top" },
];

const configuration = `transports:
  management: { ssh: management4.example.net }
  lab: { kubernetes: { context: lab } }
routes:
  - { to: management.example.net, via: management }
  - { to: .svc.cluster.local, via: lab }
`;

/** Runs a command in a terminal, quits it with "q" after some seconds, and prints the last screens that it drew. */
const screens = `import fcntl, os, pty, re, select, struct, sys, termios, time
columns, rows, seconds, count = map(int, sys.argv[1:5])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[5], sys.argv[5:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
text, end, asked = b"", time.monotonic() + seconds, False
while True:
    if not asked and time.monotonic() > end:
        asked = os.write(terminal, b"q") > 0
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        more = os.read(terminal, 65536)
    except OSError:
        break
    if not more:
        break
    text += more
drawn = [re.sub(r"\\x1b\\[[0-9;?]*[A-Za-z]|\\r", "", one) for one in text.decode().split("\\x1b[H")[1:]]
print("\\f".join(list(dict.fromkeys(drawn))[-count:]))
`;

/** How long `postern top` runs, and how many of its screens the recording shows. */
const watching = { seconds: 9, screens: 3 } as const;

/** Runs the session against OpenSSH servers and a Kubernetes API server, and records what it prints. */
export async function recordMinute(
  { paths, usesNamedPorts }: {
    readonly paths: Start["paths"] & { readonly bash: string; readonly python: string };
    /** Uses the ports that the session names, not free ones. */
    readonly usesNamedPorts: boolean;
  },
): Promise<RecordedStep[]> {
  await using started = new AsyncDisposableStack();
  const ssh = await sshSurroundings({ started, paths });
  const { cluster, ...kube } = await clusterSurroundings({ started, paths });
  const sitePort = usesNamedPorts ? 3000 : freePort();
  started.use(slowSite({ port: sitePort, greeting: "hello from the intranet", bytes: 120_000 }));
  const registryPort = freePort();
  started.use(slowSite({ port: registryPort, greeting: "hello from a registry", bytes: 40_000 }));
  const labels = { app: "registry" };
  await cluster.apply(
    pod({ name: "registry", namespace: "shop", labels, targets: { 5000: `127.0.0.1:${registryPort}` } }),
    service({
      name: "registry",
      namespace: "shop",
      selector: labels,
      ports: [{ port: 5000, targetPort: 5000 }],
    }),
  );
  await cluster.untilReady("shop", "registry");
  const site = "intranet.management.example.net";
  await using run = await DocumentRun.open(paths, {
    ...ssh,
    files: {
      ...await withOwnKey(ssh.files?.[".ssh/config"] ?? ""),
      ...kube.files,
      ".config/postern/config.yaml": configuration,
      "screens.py": screens,
    },
    keepsPorts: usesNamedPorts,
    stands: { [`${site}:3000`]: `${site}:${sitePort}` },
  });
  const { code, output } = await run.all(
    paths.bash,
    // An instance with live connections would drain before it stops.
    [...session.map(({ command }) => timed(command)), "kill $(jobs -p)"]
      .map((commands) => ({ commands, prints: [], needs: [] })),
  );
  if (code !== 0) throw new Error(output.join("\n"));
  return session.map((step, at) => recorded(step, output[at] ?? "", run.home));
}

/** Moves the ssh key to the home directory, so that `explain` prints a short path. */
async function withOwnKey(config: string): Promise<Record<string, string>> {
  const key = /IdentityFile (.*)/.exec(config)?.[1] ?? "";
  const files = { ".ssh/id_ed25519": key, ".ssh/id_ed25519.pub": `${key}.pub` };
  const read = Object.entries(files).map(async ([name, path]) =>
    [name, await Deno.readTextFile(path)] as const
  );
  return {
    ...Object.fromEntries(await Promise.all(read)),
    ".ssh/config": config.replaceAll(key, "~/.ssh/id_ed25519"),
  };
}

/** Runs a command between two times in microseconds. */
function timed(command: string): string {
  const { columns, rows } = terminalSize;
  const watched = `python3 screens.py ${columns} ${rows} ${watching.seconds} ${watching.screens} ${command}`;
  // The pause stands for the time that you need to type the next command.
  return `sleep 0.3\necho "\${EPOCHREALTIME/./}"\n${
    isWatching(command) ? watched : command
  }\necho "\${EPOCHREALTIME/./}"`;
}

function recorded(step: typeof session[number], printed: string, home: string): RecordedStep {
  const [, began, text = "", ended] = /^(\d+)\n(.*?)(\d+)\n$/s.exec(printed) ?? [];
  if (began === undefined) throw new Error(`no times in ${printed}`);
  const shown = text.replaceAll(home, "/home/you").trimEnd();
  const parts = shown.split("\f").map((part) => part === "" ? [] : part.split("\n"));
  const { remark, command, isTimed = false } = step;
  return {
    ...remark !== undefined && { remark },
    command,
    output: isWatching(command) ? [] : parts.flat(),
    screens: isWatching(command) ? parts : [],
    ...isTimed && { seconds: (Number(ended) - Number(began)) / 1e6 },
  };
}

function isWatching(command: string): boolean {
  return command === "postern top";
}

/** Serves a greeting at `/`, and endless slow downloads elsewhere. */
function slowSite(
  { port, greeting, bytes }: { readonly port: number; readonly greeting: string; readonly bytes: number },
): AsyncDisposable {
  const piece = new Uint8Array(bytes);
  const download = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 50 + 100 * Math.random()));
        controller.enqueue(piece);
      },
    });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen: () => {} },
    ({ url }) => new Response(new URL(url).pathname === "/" ? `${greeting}\n` : download()),
  );
  return { [Symbol.asyncDispose]: () => server.shutdown() };
}
