import settings from "../deno.json" with { type: "json" };
import { releasesOf } from "./release_files.ts";

const usage = "deno task installers --project URL [--version VERSION] [--output DIRECTORY]";

/** The values that a release writes into its install scripts. */
export interface Release {
  readonly version: string;
  /** The project's address: `https://HOST/OWNER/NAME`. */
  readonly project: string;
}

/** Writes the install scripts of a release with its version and address. */
if (import.meta.main) Deno.exit(await writeInstallers(Deno.args));

async function writeInstallers(args: readonly string[]): Promise<number> {
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at += 2) {
    const [option = "", value] = args.slice(at, at + 2);
    if (["--project", "--version", "--output"].includes(option) && value !== undefined) {
      given.set(option, value);
    }
  }
  const project = given.get("--project");
  if (project === undefined || given.size * 2 !== args.length) {
    console.error(`usage: ${usage}`);
    return 2;
  }
  const root = new URL("../", import.meta.url);
  const output = given.get("--output") ?? decodeURIComponent(new URL("dist", root).pathname);
  for (const name of ["install.sh", "install.ps1"]) {
    const text = await Deno.readTextFile(new URL(`scripts/${name}`, root));
    const version = given.get("--version") ?? settings.version;
    await Deno.writeTextFile(`${output}/${name}`, installerOf(text, { version, project }));
    console.log(`installer: ${name}`);
  }
  return 0;
}

/** Returns an install script whose default is one release. */
export function installerOf(text: string, { version, project }: Release): string {
  if (!/^[0-9A-Za-z.+-]+$/.test(version)) throw new Error(`Cannot use "${version}" as a version`);
  const filled = filledIn(text, /^(\s*(?:release_version=|\$releaseVersion = ))''$/gm, version);
  return filledIn(filled, /^(\s*(?:release_url=|\$releaseUrl = ))''$/gm, releasesOf(project));
}

function filledIn(text: string, place: RegExp, value: string): string {
  if ([...text.matchAll(place)].length !== 1) {
    throw new Error(`Cannot patch the install script: ${place} must occur once`);
  }
  return text.replace(place, (_, before: string) => `${before}'${value}'`);
}
