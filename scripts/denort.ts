import { scriptCache } from "./directories.ts";
import { sha256 } from "./sha256.ts";

/** A runtime to compile with, and the compiler of the same version that reads it. */
export interface OlderRuntime {
  readonly compiler: string;
  readonly denort: string;
}

/** The newest runtime file that a package registry carries: Deno 2.4.2 for Linux on x64. */
const version = "2.4.2";

/**
 * Another program compiled by Deno, as its package carries it: runtime, then `trailer` and what was embedded.
 * What precedes the trailer is the runtime that Deno's own release has, byte for byte.
 */
const carrier = {
  package: "@vltpkg/cli-linux-x64@0.0.0-18",
  file: "package/vlt",
  size: 85_186_368,
  trailer: "d3n0l4nd",
  sha256: "2705685d7478610b98dcd43acecd457a19810146323041c8af8a88f7dd0b5e82",
};

/** Fetches the older runtime into the cache, once, and checks it: `DENORT_BIN` of `deno compile`. */
export async function fetchOlderRuntime(): Promise<OlderRuntime> {
  if (Deno.build.target !== "x86_64-unknown-linux-gnu") {
    throw new Error(`Cannot fetch the runtime ${version}: there is one for Linux on x64 only`);
  }
  const directory = scriptCache(`postern-runtime-${version}`);
  await Deno.mkdir(directory, { recursive: true });
  const denort = `${directory}/denort`;
  if (!await isGenuine(denort)) await extractRuntime(directory, denort);
  const compiler = `${directory}/node_modules/deno/deno`;
  if (!await isThere(compiler)) await installCompiler(directory);
  return { compiler, denort };
}

async function extractRuntime(directory: string, denort: string): Promise<void> {
  const packed = (await run(["npm", "pack", "--silent", carrier.package], directory)).trim();
  const bytes = await unpackFront(`${directory}/${packed}`, carrier.size + carrier.trailer.length);
  const trailer = new TextDecoder().decode(bytes.subarray(carrier.size));
  if (trailer !== carrier.trailer) {
    throw new Error(`Cannot use ${carrier.package}: its runtime does not end where it should`);
  }
  await Deno.writeFile(`${denort}.new`, bytes.subarray(0, carrier.size), { mode: 0o755 });
  if (!await isGenuine(`${denort}.new`)) throw new Error(`Cannot use ${carrier.package}: wrong checksum`);
  await Deno.rename(`${denort}.new`, denort);
  await Deno.remove(`${directory}/${packed}`);
}

/** The first bytes of the one file wanted, without unpacking the rest. */
async function unpackFront(archive: string, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const child = new Deno.Command("tar", { args: ["-xOzf", archive, carrier.file], stdout: "piped" }).spawn();
  const front = new Uint8Array(size);
  let filled = 0;
  for await (const bytes of child.stdout) {
    const wanted = bytes.subarray(0, size - filled);
    front.set(wanted, filled);
    filled += wanted.length;
  }
  await child.status;
  return front.subarray(0, filled);
}

/** The package without its install script: the platform's program is linked where the script would put it. */
async function installCompiler(directory: string): Promise<void> {
  await Deno.writeTextFile(`${directory}/package.json`, "{}\n");
  await run(["npm", "install", "--silent", "--no-audit", "--no-fund", `deno@${version}`], directory);
  const found = `${directory}/node_modules/@deno/linux-x64-glibc/deno`;
  if (!await isThere(found)) throw new Error(`Cannot find the program of deno@${version} in its package`);
  const link = `${directory}/node_modules/deno/deno`;
  if (!await isThere(link)) await Deno.link(found, link);
}

async function isGenuine(file: string): Promise<boolean> {
  return await isThere(file) && await sha256(file) === carrier.sha256;
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function run([program = "", ...args]: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, stdin: "null" }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run ${program} ${args[0]}: ${new TextDecoder().decode(stderr).trim()}`);
}
