import settings from "../deno.json" with { type: "json" };
import { bundleEntry, bundleFlags, bundleProgram } from "./bundle.ts";
import { fetchRuntime, packagedSystems } from "./denort.ts";
import { programName, type ReleaseSystem, releaseSystems } from "./release_files.ts";
import { sha256 } from "./sha256.ts";

const usage = "deno task compile [--target NAME… | --target all] [--runtime 2.6]";

/** Our names of platforms, with Deno's names. */
const targets: Readonly<Record<ReleaseSystem, string>> = {
  "linux-x64": "x86_64-unknown-linux-gnu",
  "linux-arm64": "aarch64-unknown-linux-gnu",
  "macos-x64": "x86_64-apple-darwin",
  "macos-arm64": "aarch64-apple-darwin",
  "windows-x64": "x86_64-pc-windows-msvc",
  "windows-arm64": "aarch64-pc-windows-msvc",
};

const largest = 110_000_000;

/** Compiles the program into `dist/` and writes a checksum for each file. */
if (import.meta.main) Deno.exit(await compileAll(Deno.args));

interface Compiler {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

async function compileAll(args: readonly string[]): Promise<number> {
  const asked: ReleaseSystem[] = [];
  let isAll = false;
  let isPackaged = false;
  for (let at = 0; at < args.length; at += 2) {
    const [option, value = ""] = args.slice(at, at + 2);
    if (option === "--target" && value === "all") isAll = true;
    else if (option === "--target" && isSystem(value)) asked.push(value);
    else if (option === "--runtime" && value === "2.6") isPackaged = true;
    else {
      console.error(`usage: ${usage}\ntargets: ${releaseSystems.join(", ")}`);
      return 2;
    }
  }
  const root = decodeURIComponent(new URL("../", import.meta.url).pathname);
  const chunks = `${root}dist/chunks`;
  await removeIfThere(chunks);
  const files = await bundleProgram(chunks, { isFrozen: Deno.env.has("CI") });
  // The program contains the files' times: zero them, so that the same source gives the same bytes.
  for (const file of files) await Deno.utime(`${chunks}/${file}`, 0, 0);
  console.log(`bundled: ${files.length} files`);
  if (isAll) asked.push(...isPackaged ? packagedSystems : releaseSystems);
  const jobs = asked.length === 0 ? [undefined] : asked;
  let failures = 0;
  for (const target of jobs) {
    const output = `${root}dist/${fileName(target)}`;
    const compiler = isPackaged ? await packagedCompiler(target) : { program: Deno.execPath(), env: {} };
    if (!await compileOne({ compiler, chunks, files, target, output })) failures++;
  }
  return failures === 0 ? 0 : 1;
}

interface Job {
  readonly compiler: Compiler;
  readonly chunks: string;
  readonly files: readonly string[];
  /** Undefined means this platform. */
  readonly target: ReleaseSystem | undefined;
  readonly output: string;
}

async function compileOne({ compiler, chunks, files, target, output }: Job): Promise<boolean> {
  const command = new Deno.Command(compiler.program, {
    args: [
      "compile",
      "--no-check",
      ...bundleFlags(),
      ...files.filter((file) => file !== bundleEntry).flatMap((file) => ["--include", file]),
      ...target === undefined ? [] : ["--target", targets[target]],
      ...["--output", output, bundleEntry],
    ],
    cwd: chunks,
    env: { ...compiler.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { success, stderr } = await command.output();
  if (!success) {
    const reason = new TextDecoder().decode(stderr).trim().split("\n").slice(0, 4).join(" ");
    console.error(`compile: error: Cannot compile for ${target ?? "this platform"}: ${reason}`);
    return false;
  }
  const { size } = await Deno.stat(output);
  await Deno.writeTextFile(`${output}.sha256`, `${await sha256(output)}  ${output.replace(/^.*\//, "")}\n`);
  console.log(`compiled: ${output.replace(/^.*\/(?=dist\/)/, "")}: ${(size / 1e6).toFixed(1)} MB`);
  if (size <= largest) return true;
  console.error(`compile: error: ${output} is larger than ${largest / 1e6} MB`);
  return false;
}

/** `postern` for this platform; for others the name includes version and platform. */
function fileName(target: ReleaseSystem | undefined): string {
  if (target !== undefined) return programName(settings.version, target);
  return Deno.build.os === "windows" ? "postern.exe" : "postern";
}

function isSystem(name: string): name is ReleaseSystem {
  return releaseSystems.some((system) => system === name);
}

async function packagedCompiler(target: ReleaseSystem = "linux-x64"): Promise<Compiler> {
  const { compiler, denort } = await fetchRuntime(target);
  return { program: compiler, env: { DENORT_BIN: denort } };
}

async function removeIfThere(directory: string): Promise<void> {
  try {
    await Deno.remove(directory, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
