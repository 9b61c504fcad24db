import { cliPage } from "./reference_cli.ts";
import { configurationPage, schemaFile } from "./reference_configuration.ts";
import { errorsTable } from "./reference_errors.ts";
import { withPart } from "./reference_page.ts";
import { permissionsPage } from "./reference_permissions.ts";
import { roomsPart } from "./reference_rooms.ts";
import { sshOptionsTable } from "./reference_ssh.ts";

/** Where the paths of the pages begin. */
export const projectRoot: URL = new URL("../", import.meta.url);

/** Writes the pages that are made of the code; with --check it changes nothing and fails where one is out of date. */
if (import.meta.main) Deno.exit(await writeReference(Deno.args));

async function writeReference(args: readonly string[]): Promise<number> {
  const isCheck = args.includes("--check");
  let stale = 0;
  for (const [path, content] of await referencePages()) {
    const file = new URL(path, projectRoot);
    if (await textOf(file) === content) continue;
    stale++;
    if (!isCheck) await Deno.writeTextFile(file, content);
    console.log(isCheck ? `out of date: ${path}` : `wrote ${path}`);
  }
  if (isCheck && stale > 0) console.log("write them again: deno task reference");
  return isCheck && stale > 0 ? 1 : 0;
}

/** Every page or part of a page that is made of the code, by its path, as it has to be. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const architecture = await textOf(new URL("ARCHITECTURE.md", projectRoot));
  const drawn = withPart(architecture, "rooms", await roomsPart(new URL("src/", projectRoot)));
  const ssh = await textOf(new URL("docs/guide/ssh.md", projectRoot));
  return new Map([
    ["ARCHITECTURE.md", withPart(drawn, "errors", errorsTable())],
    ["docs/guide/permissions.md", permissionsPage()],
    ["docs/guide/ssh.md", withPart(ssh, "ssh options", sshOptionsTable())],
    ["docs/reference/cli.md", cliPage()],
    ["docs/reference/configuration.md", await configurationPage()],
    ["docs/reference/postern.schema.json", await schemaFile()],
  ]);
}

/** The text of a file; nothing where it has yet to be written. */
async function textOf(file: URL): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
