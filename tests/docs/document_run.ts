import { compiled } from "../support/postern_process.ts";

/** A block of a document that is run, and the lines it says it prints. */
export interface Example {
  readonly commands: string;
  readonly prints: readonly string[];
}

/** The blocks that begin with `sh run`, each with the `text` block that follows it at once. */
export function examplesOf(page: string): Example[] {
  const block = /^```sh run\n(.*?)\n```\n(?:\n```text\n(.*?)\n```\n)?/gms;
  return [...page.matchAll(block)].map(([, commands = "", prints = ""]) => ({
    commands,
    prints: prints.split("\n").filter((line) => line !== "" && line !== "…"),
  }));
}

/** What came of a document's examples. */
export interface Outcome {
  readonly code: number;
  /** What each example printed, on stdout and stderr. */
  readonly output: readonly string[];
}

/** The ports that documents name; a run takes free ones in their place. */
const namedPorts = ["12000", "12100", "8000"];

const mark = "== next example ==";

/** A home of its own, in which the examples of one document run one after the other in one shell. */
export class DocumentRun implements AsyncDisposable {
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(directory: string, env: Readonly<Record<string, string>>) {
    this.#directory = directory;
    this.#env = env;
  }

  static async open({ python }: { python: string }): Promise<DocumentRun> {
    const directory = await Deno.makeTempDir({ prefix: "pd" });
    for (const name of ["bin", "run", "tmp", ".config"]) {
      await Deno.mkdir(`${directory}/${name}`, { mode: 0o700 });
    }
    for (const [name, command] of [["postern", program()], ["python3", `'${python}'`]]) {
      await Deno.writeTextFile(`${directory}/bin/${name}`, `#!/bin/sh\nexec ${command} "$@"\n`, {
        mode: 0o755,
      });
    }
    return new DocumentRun(directory, {
      HOME: directory,
      XDG_RUNTIME_DIR: `${directory}/run`,
      TMPDIR: `${directory}/tmp`,
      PATH: `${directory}/bin:${Deno.env.get("PATH") ?? ""}`,
      SHELL: "/bin/sh",
      NO_COLOR: "1",
      ...compiled() ? {} : { DENO_DIR: await denoDirectory() },
    });
  }

  /** Runs all examples; the first command that fails ends it. Doors and jobs that are left are stopped. */
  async all(bash: string, examples: readonly Example[]): Promise<Outcome> {
    const ports = freePorts(namedPorts.length);
    const named = new RegExp(`\\b(?:${namedPorts.join("|")})\\b`, "g");
    const script = [
      "exec 2>&1",
      "set -eu",
      "trap 'set +e; postern stop --all >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null' EXIT",
      ...examples.map(({ commands }) => `${commands}\necho '${mark}'`),
    ].join("\n").replace(named, (port) => `${ports[namedPorts.indexOf(port)]}`);
    const { code, stdout } = await new Deno.Command(bash, {
      args: ["--norc", "-c", script],
      cwd: this.#directory,
      env: this.#env,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
    }).output();
    return { code, output: new TextDecoder().decode(stdout).split(`${mark}\n`) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** The command line that `postern` stands for: the compiled program under test, else the one from source. */
function program(): string {
  const binary = compiled();
  if (binary) return `'${binary}'`;
  const script = new URL("../../scripts/postern.ts", import.meta.url).pathname;
  return `'${Deno.execPath()}' run --no-prompt --quiet --allow-run --allow-read --allow-env --allow-sys=uid '${script}'`;
}

/** Ports that were free a moment ago. */
function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  const ports = listeners.map(({ addr }) => (addr as Deno.NetAddr).port);
  for (const listener of listeners) listener.close();
  return ports;
}

async function denoDirectory(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
