import type { Peer } from "./peer_table.ts";

export interface MavenOptions {
  /** The command that starts Maven, with a time limit if the machine has `timeout`. */
  readonly mvn: readonly string[];
  /** The parent directory for the unpacked archive. */
  readonly into: string;
  /** Runs a program; returns its output if it failed. */
  readonly run: (command: readonly string[], options?: { cwd?: string }) => Promise<string | undefined>;
}

/** Shorter timeouts, because Maven's default is half an hour. */
const patience = ["-Daether.connector.connectTimeout=15000", "-Daether.connector.requestTimeout=120000"];

const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack";

/**
 * Unpacks an archive and runs the build step of its program; returns the failure, if any. A rename installs
 * the complete directory, so an incomplete one is never found. Maven's own repository is removed, because it
 * is as large as the archive.
 */
export async function unpackMaven(
  { program, maven }: Peer,
  { mvn, into, run }: MavenOptions,
): Promise<string | undefined> {
  if (!maven) return "no coordinates";
  const [name = "", ...below] = program.split("/");
  const directory = await Deno.makeTempDir({ dir: into, prefix: `${name}-` });
  try {
    const failure = await run([
      ...mvn,
      ...["--quiet", "--batch-mode", `-Dmaven.repo.local=${directory}/repository`, plugin],
      ...patience,
      ...[`-Dartifact=${maven.artifact}`, `-DoutputDirectory=${directory}/unpacked`],
    ], { cwd: directory });
    if (failure !== undefined) return failure;
    const [top] = await Array.fromAsync(Deno.readDir(`${directory}/unpacked`));
    const whole = `${directory}/unpacked/${top?.name}`;
    const path = `${whole}/${below.join("/")}`;
    await Deno.chmod(path, 0o755);
    const unready = await run([path, ...maven.build]);
    if (unready !== undefined) return unready;
    await Deno.rename(whole, `${into}/${name}`);
    return undefined;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
