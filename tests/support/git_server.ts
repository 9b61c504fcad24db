import { runPeer } from "./peer_program.ts";

/** A real git server on loopback: `git http-backend` behind a small web server; clients may push. */
export class GitServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** Serves the bare repositories of a directory. */
  constructor(git: string, directory: string) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => answered(git, directory, request),
    );
  }

  get address(): string {
    return `127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Runs the backend as RFC 3875 (CGI) says. */
async function answered(git: string, directory: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const env = {
    GIT_PROJECT_ROOT: directory,
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_CONFIG_NOSYSTEM: "1",
    HOME: directory,
    PATH_INFO: pathname,
    QUERY_STRING: search.slice(1),
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers.get("content-type") ?? "",
    HTTP_CONTENT_ENCODING: request.headers.get("content-encoding") ?? "",
    GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
    REMOTE_USER: "me",
  };
  const child = new Deno.Command(git, {
    args: ["http-backend"],
    env: { PATH: Deno.env.get("PATH") ?? "", ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const body = request.body ?? new Blob([]).stream();
  const [output] = await Promise.all([child.output(), body.pipeTo(child.stdin)]);
  return fromCgi(output.stdout);
}

/** Reads the answer: fields, an empty line, the body. */
function fromCgi(bytes: Uint8Array<ArrayBuffer>): Response {
  const end = bytes.findIndex((_, at) => [13, 10, 13, 10].every((byte, next) => bytes[at + next] === byte));
  const lines = new TextDecoder().decode(bytes.subarray(0, end)).split("\r\n");
  const fields = lines.map((line) => line.split(": ", 2) as [string, string]);
  const status = fields.find(([name]) => name === "Status")?.[1] ?? "200";
  const headers = new Headers(fields.filter(([name]) => name !== "Status"));
  return new Response(bytes.slice(end + 4), { status: Number(status.slice(0, 3)), headers });
}

/** Creates a bare repository with one commit. */
export async function makeRepository(git: string, directory: string, name: string): Promise<void> {
  const work = `${directory}/${name}.work`;
  const run = async (...args: readonly string[]) => {
    const { code, stderr } = await runPeer(git, args, { env: gitEnv(directory), cwd: directory });
    if (code !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  };
  await run("init", "--quiet", "--initial-branch=main", work);
  await Deno.writeTextFile(`${work}/readme`, "hello\n");
  await run("-C", work, "add", "readme");
  await run("-C", work, "commit", "--quiet", "--message=first");
  await run("clone", "--quiet", "--bare", work, `${directory}/${name}.git`);
  await run("-C", `${directory}/${name}.git`, "config", "http.receivepack", "true");
}

/** The environment of git without the configuration of this machine. */
export function gitEnv(home: string): Readonly<Record<string, string>> {
  const person = { NAME: "Test", EMAIL: "test@example.com" };
  const people = Object.entries(person).flatMap(([name, value]) =>
    ["AUTHOR", "COMMITTER"].map((who) => [`GIT_${who}_${name}`, value] as const)
  );
  return { HOME: home, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0", ...Object.fromEntries(people) };
}
