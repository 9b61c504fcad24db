import type { Peer } from "./peer_table.ts";

export interface MavenOptions {
  /** How Maven is started: by a program that ends it when it takes too long, where there is one. */
  readonly mvn: readonly string[];
  /** The directory that gets a directory for it. */
  readonly into: string;
  /** Runs a program; what it said where it failed. */
  readonly run: (command: readonly string[], options?: { cwd?: string }) => Promise<string | undefined>;
}

/** Half an hour is what it would wait for an answer. */
const patience = ["-Daether.connector.connectTimeout=15000", "-Daether.connector.requestTimeout=120000"];

const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack";

/**
 * Unpacks an archive and has its program make itself ready; what failed, if anything did. It is found only when it is
 * whole. What Maven keeps for itself is removed: an archive is as large as what is in it.
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
