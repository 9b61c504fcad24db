import { eventually, runPeer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";

/** The required peers. */
export const sshAgentPeers = ["ssh_agent", "ssh_add"] as const;

/** A real ssh agent that runs until it is disposed. */
export class SshAgent implements AsyncDisposable {
  readonly path: string;
  readonly #child: Deno.ChildProcess;
  readonly #paths: PeerPaths<typeof sshAgentPeers[number]>;

  constructor(path: string, paths: PeerPaths<typeof sshAgentPeers[number]>) {
    this.path = path;
    this.#paths = paths;
    this.#child = new Deno.Command(paths.ssh_agent, {
      args: ["-D", "-a", path],
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
  }

  /** Adds a key once the agent is ready. */
  async add(key: string): Promise<void> {
    const options = { env: { SSH_AUTH_SOCK: this.path } };
    await eventually(
      `the agent accepts ${key}`,
      async () => (await runPeer(this.#paths.ssh_add, ["-q", key], options)).code === 0,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.output();
    await Deno.remove(this.path);
  }
}
