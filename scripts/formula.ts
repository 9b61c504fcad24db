import settings from "../deno.json" with { type: "json" };
import {
  manualName,
  programName,
  projectUrl,
  readSums,
  releasesOf,
  type ReleaseSystem,
} from "./release_files.ts";

const usage =
  "deno task formula --project URL [--version VERSION] [--sums FILE|DIRECTORY] [--output DIRECTORY]";

/** The input of a formula. */
export interface FormulaParts {
  readonly version: string;
  /** The project's address: `https://HOST/OWNER/NAME`. */
  readonly project: string;
  /** The checksums of the release's files by name. */
  readonly sums: ReadonlyMap<string, string>;
}

/** Writes the Homebrew formula of a release with the checksums of its files. */
if (import.meta.main) Deno.exit(await writeFormula(Deno.args));

async function writeFormula(args: readonly string[]): Promise<number> {
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at += 2) {
    const [option = "", value] = args.slice(at, at + 2);
    if (["--project", "--version", "--sums", "--output"].includes(option) && value !== undefined) {
      given.set(option, value);
    }
  }
  const project = given.get("--project");
  if (project === undefined || given.size * 2 !== args.length) {
    console.error(`usage: ${usage}`);
    return 2;
  }
  const dist = decodeURIComponent(new URL("../dist", import.meta.url).pathname);
  try {
    const sums = readSums(await textOfSums(given.get("--sums") ?? dist));
    const version = given.get("--version") ?? settings.version;
    const path = `${given.get("--output") ?? dist}/postern.rb`;
    await Deno.writeTextFile(path, formulaOf({ version, project, sums }));
    console.log(`formula: ${path.replace(`${dist}/`, "dist/")}`);
    return 0;
  } catch (error) {
    console.error(`formula: error: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

/** Reads one list of checksums, or all `.sha256` files of a directory. */
async function textOfSums(path: string): Promise<string> {
  if ((await Deno.stat(path)).isFile) return await Deno.readTextFile(path);
  const files = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
  const texts = files.filter((name) => name.endsWith(".sha256"))
    .map((name) => Deno.readTextFile(`${path}/${name}`));
  return (await Promise.all(texts)).join("");
}

/** Returns a formula in Ruby, with address and checksum of each file of the release. */
export function formulaOf({ version, project, sums }: FormulaParts): string {
  const home = projectUrl(project), release = `${releasesOf(project)}/v${version}`;
  if (!/^[0-9A-Za-z.+-]+$/.test(version)) throw new Error(`Cannot use "${version}" as a version`);
  const file = (indent: string, name: string) => {
    const sum = sums.get(name);
    if (sum === undefined) throw new Error(`Cannot find the checksum of ${name}`);
    return `${indent}url "${release}/${name}"\n${indent}sha256 "${sum}"`;
  };
  const program = (system: ReleaseSystem) => file("      ", programName(version, system));
  return `# Written by the release: deno task formula
class Postern < Formula
  desc "One local door into every private cluster"
  homepage "${home}"
  version "${version}"
  license "${settings.license}"

  on_macos do
    on_arm do
${program("macos-arm64")}
    end
    on_intel do
${program("macos-x64")}
    end
  end

  on_linux do
    on_arm do
${program("linux-arm64")}
    end
    on_intel do
${program("linux-x64")}
    end
  end

  resource "manual" do
${file("    ", manualName(version))}
  end

  def install
    bin.install Dir["postern-*"].first => "postern"
    chmod 0555, bin/"postern"
    generate_completions_from_executable(bin/"postern", "completion", shells: [:bash, :zsh, :fish])
    resource("manual").stage { man1.install Dir["**/*.1"] }
  end

  def caveats
    <<~TEXT
      To start postern at log-in, run: brew services start postern
      To start postern on demand instead, run: postern service-install
      Do not use both.
    TEXT
  end

  service do
    run [opt_bin/"postern", "proxy"]
    keep_alive true
    process_type :interactive
    log_path var/"log/postern.log"
    error_log_path var/"log/postern.log"
  end

  test do
    assert_equal "postern #{version}\\n", shell_output("#{bin}/postern --version")
    assert_match "steps ok", shell_output("#{bin}/postern demo --once")
  end
end
`;
}
