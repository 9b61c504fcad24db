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

/** What a formula is made of. */
export interface FormulaParts {
  readonly version: string;
  /** Where the project is: `https://HOST/OWNER/NAME`. */
  readonly project: string;
  /** The checksums of the release's files, by their names. */
  readonly sums: ReadonlyMap<string, string>;
}

/** Writes the formula for Homebrew of a release, with the release's own checksums. */
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

/** One list, or what lies beside each file of a release. */
async function textOfSums(path: string): Promise<string> {
  if ((await Deno.stat(path)).isFile) return await Deno.readTextFile(path);
  const files = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
  const texts = files.filter((name) => name.endsWith(".sha256"))
    .map((name) => Deno.readTextFile(`${path}/${name}`));
  return (await Promise.all(texts)).join("");
}

/** A formula in Ruby. Each of its files is one of the release, by the checksum that the release has. */
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
      brew services keeps a door running from log-in on. A door that comes when it is
      needed is made by: postern service-install
      One of the two is enough.
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
