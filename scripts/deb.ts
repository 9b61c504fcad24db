import { createHash } from "node:crypto";
import settings from "../deno.json" with { type: "json" };
import { readElf } from "./elf.ts";
import { lastChange } from "./man.ts";
import { packageFiles } from "./package_files.ts";
import { type TarEntry, withDirectories, writeTar } from "./tar.ts";

const usage = "deno task deb [--program FILE] [--version VERSION] [--output DIRECTORY]";

/** Builds a package for Debian and its derivatives from the compiled program in `dist/`. */
if (import.meta.main) Deno.exit(await makePackage(Deno.args));

async function makePackage(args: readonly string[]): Promise<number> {
  const root = decodeURIComponent(new URL("../", import.meta.url).pathname);
  const given = new Map<string, string>();
  for (let at = 0; at < args.length; at += 2) {
    const [option = "", value] = args.slice(at, at + 2);
    if (!["--program", "--version", "--output"].includes(option) || value === undefined) {
      console.error(`usage: ${usage}`);
      return 2;
    }
    given.set(option, value);
  }
  const program = await Deno.readFile(given.get("--program") ?? `${root}dist/postern`);
  const version = given.get("--version") ?? settings.version;
  const { machine, glibc } = readElf(program);
  const name = `postern_${version}_${machine}.deb`;
  const files = await packageFiles(program, { date: await lastChange() });
  const output = given.get("--output") ?? `${root}dist`;
  await Deno.writeFile(`${output}/${name}`, await debOf({ files, version, machine, glibc }));
  console.log(`package: ${output.replace(root, "")}/${name}`);
  return 0;
}

/** The metadata and the files of a package. */
export interface DebDescription {
  readonly files: readonly TarEntry[];
  readonly version: string;
  readonly machine: string;
  /** The oldest C library that the program supports. */
  readonly glibc: string | undefined;
}

/** Returns a package in dpkg's format; the same files give the same bytes. */
async function debOf(
  { files, version, machine, glibc }: DebDescription,
): Promise<Uint8Array<ArrayBuffer>> {
  const contents = files.flatMap((file) => file.type === "file" ? [file] : []);
  const size = contents.reduce((sum, { content }) => sum + content.length, 0);
  const control = [
    "Package: postern",
    `Version: ${version}`,
    `Architecture: ${machine}`,
    "Maintainer: the authors of postern",
    `Installed-Size: ${Math.ceil(size / 1024)}`,
    `Depends: libc6${glibc === undefined ? "" : ` (>= ${glibc})`}, libgcc-s1 | libgcc1`,
    "Recommends: ca-certificates, openssh-client",
    "Section: net",
    "Priority: optional",
    "Description: one local door into every private cluster",
    " A local proxy (SOCKS and HTTP) whose rules choose a transport for every name and",
    " address: directly, through ssh hosts, through a Kubernetes API server, through a",
    " Konnectivity server or through another proxy.",
    "",
  ].join("\n");
  const sums = contents.map(({ path, content }) =>
    `${createHash("md5").update(content).digest("hex")}  ${path}\n`
  ).sort().join("");
  const text = (path: string, content: string): TarEntry => ({
    type: "file",
    path,
    mode: 0o644,
    content: new TextEncoder().encode(content),
  });
  return await arOf([
    ["debian-binary", new TextEncoder().encode("2.0\n")],
    ["control.tar.gz", await archive([text("control", control), text("md5sums", sums)])],
    ["data.tar.gz", await archive(files)],
  ]);
}

/** Returns a compressed archive whose paths begin with a dot. */
async function archive(files: readonly TarEntry[]): Promise<Uint8Array<ArrayBuffer>> {
  const entries = withDirectories(files).map((entry) => ({ ...entry, path: `./${entry.path}` }));
  const whole: readonly TarEntry[] = [{ type: "directory", path: ".", mode: 0o755 }, ...entries];
  const packed = new Blob([...writeTar(whole)]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(packed).bytes();
}

// A line, then for each file: name 16, time 12, owner 6, group 6, rights 8, size 10, "`" and a line end; then
// the file at an even offset.
async function arOf(
  files: readonly (readonly [name: string, content: Uint8Array<ArrayBuffer>])[],
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: BlobPart[] = ["!<arch>\n"];
  for (const [name, content] of files) {
    const fields = [[name, 16], ["0", 12], ["0", 6], ["0", 6], ["100644", 8], [
      String(content.length),
      10,
    ]] as const;
    parts.push(`${fields.map(([value, room]) => value.padEnd(room)).join("")}\`\n`, content);
    if (content.length % 2 === 1) parts.push("\n");
  }
  return await new Blob(parts).bytes();
}
