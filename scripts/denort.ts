import { scriptCache } from "./directories.ts";
import { findPeer, findProgram } from "./find_peers.ts";
import { withoutSegment } from "./macho.ts";
import { peers } from "./peer_table.ts";
import { type ReleaseSystem, releaseSystems } from "./release_files.ts";
import { sha256 } from "./sha256.ts";

/** A runtime for compiled programs, and the compiler of the same version for Linux on x64. */
export interface PackagedRuntime {
  readonly compiler: string;
  readonly denort: string;
}

/** A program inside a wheel of the package index. */
interface Wheel {
  readonly package: string;
  /** The platform in the name of the wheel. */
  readonly platform: string;
  readonly program: string;
  /** The SHA-256 of the wheel. */
  readonly wheel: string;
  /** Extracts the runtime from the program (default: the whole program). */
  readonly extract?: (program: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
  /** The SHA-256 of the extracted file. */
  readonly sha256: string;
}

const compilers = {
  "2.6.10": {
    package: "deno==2.6.10",
    platform: "manylinux_2_27_x86_64",
    program: "deno-2.6.10.data/scripts/deno",
    wheel: "d1600f4ee7b4a9699b7057841bdb5d7b7eac3fb073df072540064166841c2f4c",
    sha256: "bb9513ce8a9a7a976a77e0a32c5818035fb72dff6364afc5b8659594ba4a6139",
  },
  "2.6.8": {
    package: "deno==2.6.8",
    platform: "manylinux_2_27_x86_64",
    program: "deno-2.6.8.data/scripts/deno",
    wheel: "2c31bda6da38f9130ef796a9298642b2ca5525420033c74c8b6bbac9d1ab35b0",
    sha256: "8b254e08be2565f608a06bfde3f62f3aabbf8994712f0078c7a7f24bc8c46676",
  },
} satisfies Readonly<Record<string, Wheel>>;

type Version = keyof typeof compilers;

/** The last version whose wheels are programs compiled by Deno: a runtime with embedded data. */
const carrier = { package: "bids-validator-deno==2.4.1", scripts: "bids_validator_deno-2.4.1.data/scripts" };

/** The runtimes in the package registry. */
const runtimes: Partial<Record<ReleaseSystem, Wheel & { readonly version: Version }>> = {
  "linux-x64": {
    version: "2.6.10",
    package: carrier.package,
    platform: "manylinux_2_27_x86_64",
    program: `${carrier.scripts}/bids-validator-deno`,
    wheel: "5087fcd13341f529b5404792a74e22f570e50f17e5ea4cabe9c91b1caf74cbf4",
    // The embedded data follows the end of the ELF file.
    extract: (program) => program.subarray(0, 92_183_912),
    sha256: "1b136202dc147212ad0b129de0c10eb5f17060917c9754c7921cd68f764ad2e2",
  },
  "macos-arm64": {
    version: "2.6.10",
    package: carrier.package,
    platform: "macosx_11_0_arm64",
    program: `${carrier.scripts}/bids-validator-deno`,
    wheel: "45ecc93d9e6da8ff23529dc03c128ecc5f6527155dc0a10ec00aca020bcd250f",
    extract: (program) => withoutSegment(program, "__SUI"),
    sha256: "1878da5f3460956a9320083b3072111d7a680abbc1f3838f8d80b5d88d9d3026",
  },
  "windows-x64": {
    version: "2.6.8",
    package: carrier.package,
    platform: "win_amd64",
    program: `${carrier.scripts}/bids-validator-deno.exe`,
    // The compiler replaces the resource with the embedded data.
    wheel: "24106f32e5c9dcdcec095527300e0bf683f6f4df5fb19b49a91586491eaaee5e",
    sha256: "5aaf98c6631b2458d580fcc9c753bb6a565bc03f9a611ebe9033531377a2ab92",
  },
};

/** The systems with a runtime in the package registry. */
export const packagedSystems: readonly ReleaseSystem[] = releaseSystems.filter((system) =>
  system in runtimes
);

/**
 * Fetches a runtime and its compiler into the cache once and checks both; the runtime is `DENORT_BIN` of
 * `deno compile`.
 */
export async function fetchRuntime(system: ReleaseSystem): Promise<PackagedRuntime> {
  const runtime = runtimes[system];
  if (runtime === undefined) {
    const known = packagedSystems.join(", ");
    throw new Error(`Cannot fetch a runtime for ${system}: the package registry has only ${known}`);
  }
  if (Deno.build.target !== "x86_64-unknown-linux-gnu") {
    throw new Error("Cannot fetch the compiler: it runs only on Linux on x64");
  }
  return {
    compiler: await fetchProgram(`deno-${runtime.version}`, compilers[runtime.version]),
    denort: await fetchProgram(`denort-${runtime.version}-${system}`, runtime),
  };
}

async function fetchProgram(name: string, wanted: Wheel): Promise<string> {
  const cache = scriptCache("postern-runtime");
  const path = `${cache}/${name}`;
  if (await isGenuine(path, wanted.sha256)) return path;
  await Deno.mkdir(cache, { recursive: true });
  const directory = await Deno.makeTempDir({ dir: cache });
  try {
    await unpackWheel(wanted, directory);
    const program = await Deno.readFile(`${directory}/${wanted.program}`);
    const unchecked = `${directory}/unchecked`;
    await Deno.writeFile(unchecked, wanted.extract?.(program) ?? program, { mode: 0o755 });
    await check(unchecked, wanted.sha256, `${wanted.program} of ${wanted.package}`);
    await Deno.rename(unchecked, path);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  return path;
}

async function unpackWheel(wanted: Wheel, directory: string): Promise<void> {
  const found = await findPeer(peers.python);
  const python = "path" in found ? found.path : await findProgram("python3");
  if (python === undefined) {
    throw new Error(
      "Cannot run pip: python3 is not installed: install python3-venv, then run deno task peers python",
    );
  }
  const options = ["--quiet", "--no-deps", "--only-binary=:all:", "--platform", wanted.platform];
  await run([python, "-m", "pip", "download", ...options, wanted.package], directory);
  const [{ name } = { name: "its wheel" }] = await Array.fromAsync(Deno.readDir(directory));
  await check(`${directory}/${name}`, wanted.wheel, name);
  await run([python, "-m", "zipfile", "--extract", name, "."], directory);
}

async function check(path: string, expected: string, name: string): Promise<void> {
  if (await isGenuine(path, expected)) return;
  throw new Error(`Cannot use ${name}: its SHA-256 is not ${expected}`);
}

async function isGenuine(path: string, expected: string): Promise<boolean> {
  try {
    return await sha256(path) === expected;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function run([program = "", ...args]: readonly string[], cwd: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, cwd, stdin: "null" }).output();
  if (success) return;
  throw new Error(`Cannot run ${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
