import { inNamespace, type Namespace, type Under } from "../support/namespaces.ts";
import { compiled } from "../support/postern_process.ts";
import { blocksOf, wordOf } from "./blocks.ts";
import { freePort } from "../support/peer_program.ts";

/** A block to run, and its expected output. */
export interface Example {
  readonly commands: string;
  readonly prints: readonly string[];
  /** The required surroundings: `ssh`, `cluster`. */
  readonly needs: readonly string[];
}

/**
 * Returns the blocks that begin with `sh run`, each with the `text` block directly after it, and blocks with
 * `file=PATH`, which a reader saves. Commands of `sh run stays` keep running once they are ready, as if in
 * separate terminals. Commands of `sh run anyway` may fail; those of `sh run in=project` run in a clone of
 * the project.
 */
export function examplesOf(page: string): Example[] {
  return blocksOf(page).flatMap((block) => {
    const commands = commandsOf(block);
    if (commands === undefined) return [];
    const prints = (block.prints ?? "").split("\n").filter((line) => !["", "…"].includes(line.trim()));
    const needs = (wordOf(block, "with") ?? "").split(",").filter((name) => name !== "");
    return [{ commands, prints, needs }];
  });
}

function commandsOf(block: ReturnType<typeof blocksOf>[number]): string | undefined {
  const file = wordOf(block, "file");
  if (file !== undefined) return saved(file, block.text);
  if (block.language !== "sh" || block.words[0] !== "run") return undefined;
  const commands = block.words.includes("stays")
    ? staying(block.text)
    : block.words.includes("anyway")
    ? `set +e\n${block.text}\nset -e`
    : block.text;
  return wordOf(block, "in") === "project" ? `cd "$PROJECT"\n${commands}\ncd` : commands;
}

function saved(file: string, text: string): string {
  return `mkdir -p "$(dirname ${file})"\ncat > ${file} <<'END_OF_FILE'\n${text}\nEND_OF_FILE`;
}

/** Starts each command in the background and waits until it reports ready; fails if it exits before. */
function staying(text: string): string {
  const lines = text.replaceAll(/\\\n\s*/g, "").split("\n").filter((line) => /^[^#\s]/.test(line));
  return lines.map((line) => /^(postern) /.test(line) ? `stays ${line.replace(/\s+#.*$/, "")}` : line)
    .join("\n");
}

/** The surroundings of a run, under the document's names. */
export interface Surroundings {
  /** Files of the home directory. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Host names of this machine; if set, the system also reports the run's home directory. */
  readonly hosts?: readonly string[];
  /** Local addresses of a separate network, in which all ports are free. */
  readonly addresses?: readonly string[];
  /** Keeps the ports that the document names, so the output names them too. */
  readonly keepsPorts?: boolean;
  /** Shell commands to run first. */
  readonly before?: string;
  /** Words of the document with their replacements in this run. */
  readonly stands?: Readonly<Record<string, string>>;
  /** Programs by name, with the command line that starts each. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** The result of a document's examples. */
export interface Outcome {
  readonly code: number;
  /** The output of each example on stdout and stderr. */
  readonly output: readonly string[];
}

/** The ports in documents; a run replaces them with free ones. */
const namedPorts = [
  ...["12000", "12001", "12100", "8000", "8080", "1053"],
  ...["15432", "15433", "13306", "16379"],
];

/** Commands with a default address, which another process may use on this machine. */
const addresses = [
  {
    command: /\bpostern proxy\b(?=[^\n]* --background\b)(?![^\n]* --(?:listen|config)\b)/g,
    options: "--listen localhost:12000",
  },
  { command: /\bpostern egress controller\b/g, options: "--health-port 0" },
];

const mark = "== next example ==";

const prelude = `exec 2>&1
set -eu
trap 'set +e; postern stop --all >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null; wait' EXIT
stays() {
  said=$(mktemp)
  "$@" >"$said" 2>&1 & pid=$!
  until grep -q '^ready' "$said"; do
    kill -0 $pid 2>/dev/null || { cat "$said"; exit 1; }
    read -rt 0.05 <> <(:) || :
  done
  cat "$said"
}`;

const root = new URL("../../", import.meta.url).pathname;

/** A separate home directory in which one shell runs the examples of one document in order. */
export class DocumentRun implements AsyncDisposable {
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #surroundings: Surroundings;

  private constructor(
    directory: string,
    { env, surroundings }: { env: Readonly<Record<string, string>>; surroundings: Surroundings },
  ) {
    this.#directory = directory;
    this.#env = env;
    this.#surroundings = surroundings;
  }

  static async open({ python }: { python: string }, surroundings: Surroundings = {}): Promise<DocumentRun> {
    const directory = await Deno.makeTempDir({ prefix: "pd" });
    for (const name of ["bin", "run", "tmp", "root/etc/systemd", ".config"]) {
      await Deno.mkdir(`${directory}/${name}`, { recursive: true, mode: 0o700 });
    }
    // The README begins with npx, which here starts the Deno of this test.
    const npx =
      `#!/bin/sh\n[ "$1 $2" = "--yes deno@2.9.6" ] || exit 2\nshift 2\nexec '${Deno.execPath()}' "$@"\n`;
    await Deno.writeTextFile(`${directory}/bin/npx`, npx, { mode: 0o755 });
    const programs = { postern: program(), python3: `'${python}'`, sudo: "env", ...surroundings.programs };
    for (const [name, command] of Object.entries(programs)) {
      await Deno.writeTextFile(`${directory}/bin/${name}`, `#!/bin/sh\nexec ${command} "$@"\n`, {
        mode: 0o755,
      });
    }
    for (const [name, text] of Object.entries({ ".curlrc": "silent\nshow-error\n", ...surroundings.files })) {
      const path = `${directory}/${name}`;
      await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true, mode: 0o700 });
      await Deno.writeTextFile(path, text, { mode: 0o600 });
    }
    const env = {
      HOME: directory,
      XDG_RUNTIME_DIR: `${directory}/run`,
      TMPDIR: `${directory}/tmp`,
      PATH: `${directory}/bin:${Deno.env.get("PATH") ?? ""}`,
      SHELL: "/bin/sh",
      NO_COLOR: "1",
      PROJECT: root,
      // Redirects changes that a document makes as root.
      POSTERN_ROOT: `${directory}/root`,
      ...compiled() ? {} : { DENO_DIR: await denoDirectory(), DENO_NO_UPDATE_CHECK: "1" },
      ...surroundings.env,
    };
    return new DocumentRun(directory, { env, surroundings });
  }

  /** The home directory of the run. */
  get home(): string {
    return this.#directory;
  }

  /** Runs all examples until a command fails; then stops remaining instances and jobs. */
  async all(bash: string, examples: readonly Example[]): Promise<Outcome> {
    const { stands = {}, before = "" } = this.#surroundings;
    const script = [prelude, before, ...examples.map(({ commands }) => `${commands}\necho '${mark}'`)].join(
      "\n",
    );
    const [first = bash, ...args] = [...await this.#under(), bash, "--norc", "-c", this.#standingIn(script)];
    const { code, stdout } = await new Deno.Command(first, {
      args,
      cwd: this.#directory,
      env: this.#env,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
    }).output();
    const said = Object.entries(stands).reduce(
      (text, [word, stand]) => text.replaceAll(stand, word),
      new TextDecoder().decode(stdout),
    );
    return { code, output: said.split(`${mark}\n`) };
  }

  /** Programs that read the ssh configuration take the home directory and host names from the system. */
  async #under(): Promise<Under> {
    const { hosts, addresses } = this.#surroundings;
    if (hosts === undefined) return [];
    const mounts = found(inNamespace("--mount"));
    const network = addresses && found(inNamespace("--net"));
    const up = [
      "ip link set lo up",
      ...(addresses ?? []).map((address) => `ip addr add ${address}/32 dev lo`),
    ];
    const lines = ["localhost", ...hosts].map((name) => `127.0.0.1 ${name}\n`);
    await Deno.writeTextFile(`${this.#directory}/hosts`, lines.join(""));
    return [...network?.wrap(up.join("; ")) ?? [], ...mounts.wrap(ownSystem(this.#directory))];
  }

  /** Replaces words and ports of the document in a script. */
  #standingIn(script: string): string {
    if (this.#surroundings.keepsPorts) return this.#replaced(script);
    const ports = Array.from({ length: namedPorts.length }, freePort);
    const named = new RegExp(`\\b(?:${namedPorts.join("|")})\\b`, "g");
    const addressed = addresses.reduce(
      (text, { command, options }) => text.replace(command, `$& ${options}`),
      script,
    );
    const numbered = addressed.replace(
      named,
      (port) => `${ports[namedPorts.indexOf(port)]}`,
    );
    return this.#replaced(numbered);
  }

  #replaced(script: string): string {
    return Object.entries({ "~/postern/": root, ...this.#surroundings.stands })
      .reduce((text, [word, stand]) => text.replaceAll(word, stand), script);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Returns the command line for `postern`: the compiled program under test, or postern from source. */
function program(): string {
  const binary = compiled();
  if (binary) return `'${binary}'`;
  const script = `${root}scripts/postern.ts`;
  return `'${Deno.execPath()}' run --no-prompt --quiet --allow-run --allow-read --allow-env --allow-sys=uid '${script}'`;
}

/** Returns a required namespace or throws. */
function found(namespace: Namespace): Exclude<Namespace, { readonly missing: string }> {
  if ("missing" in namespace) throw new Error(namespace.missing);
  return namespace;
}

/** Makes the system report a directory as home, and replaces the hosts file. */
function ownSystem(directory: string): string {
  return `while IFS=: read -r name x uid gid full home shell; do
  [ "$uid" != "$(id -u)" ] || home="${directory}"
  echo "$name:$x:$uid:$gid:$full:$home:$shell"
done </etc/passwd >"${directory}/passwd"
mount --bind "${directory}/passwd" /etc/passwd
mount --bind "${directory}/hosts" /etc/hosts`;
}

async function denoDirectory(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
