import { type Elf, readElf } from "./elf.ts";
import { type TarEntry, withDirectories } from "./tar.ts";

/** The user id and group id of the program in a container. */
export const imageUser = 65_532;

/** The path of the program in an image. */
export const imageProgram = "usr/bin/postern";

export interface ImageRootOptions {
  readonly program: Uint8Array<ArrayBuffer>;
  /**
   * The root directory of the system that provides the libraries, of the same architecture as the program.
   */
  readonly system: string;
  readonly license: string;
}

/** All files of an image: the base, which seldom changes, and the program. */
export interface ImageRoot {
  readonly machine: Elf["machine"];
  readonly base: readonly TarEntry[];
  readonly program: readonly TarEntry[];
}

/** Collects only the files that the program needs: no shell, no package, no other program. */
export async function imageRoot({ program, system, license }: ImageRootOptions): Promise<ImageRoot> {
  const { machine, interpreter, needed } = readElf(program);
  const libraries = new LibrarySearch(system, machine);
  for (const name of needed) await libraries.add(name);
  // Older C libraries load these for name lookups, although no program lists them.
  for (const name of ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"]) {
    await libraries.addIfThere(name);
  }
  const base: TarEntry[] = [
    ...libraries.entries,
    ...interpreter === undefined
      ? []
      : [file(interpreter.slice(1), await libraries.read(nameOf(interpreter)), 0o755)],
    file("etc/passwd", passwd),
    file("etc/group", group),
    file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    file("etc/ssl/certs/ca-certificates.crt", await readAuthorities(system)),
    ...await copyrights(system),
    { type: "directory", path: "home/postern", mode: 0o755, owner: imageUser },
    { type: "directory", path: "tmp", mode: 0o1777 },
    ...["dev", "proc", "sys"].map((path): TarEntry => ({ type: "directory", path, mode: 0o755 })),
  ];
  return {
    machine,
    base: withDirectories(base),
    program: withDirectories([
      file(imageProgram, program, 0o755),
      file("usr/share/doc/postern/copyright", license),
    ]),
  };
}

const passwd = [
  "root:x:0:0:root:/:/sbin/nologin",
  `postern:x:${imageUser}:${imageUser}:postern:/home/postern:/sbin/nologin`,
  "",
].join("\n");
const group = `root:x:0:\npostern:x:${imageUser}:\n`;

/** Finds the libraries of a program, and the libraries that those need, in a system's directories. */
class LibrarySearch {
  readonly #system: string;
  readonly #directories: readonly string[];
  readonly #found = new Map<string, TarEntry>();

  constructor(system: string, machine: Elf["machine"]) {
    this.#system = system.replace(/\/+$/, "");
    const triple = machine === "amd64" ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
    this.#directories = [`lib/${triple}`, `usr/lib/${triple}`, "lib64", "usr/lib64", "lib", "usr/lib"];
  }

  get entries(): readonly TarEntry[] {
    return [...this.#found.values()];
  }

  async add(name: string): Promise<void> {
    if (this.#found.has(name)) return;
    const [directory, content] = await this.#find(name) ?? [];
    if (directory === undefined || content === undefined) {
      throw new Error(`Cannot find the library ${name} below ${this.#system}/`);
    }
    this.#found.set(name, file(`${directory}/${name}`, content, 0o755));
    for (const other of readElf(content).needed) await this.add(other);
  }

  async addIfThere(name: string): Promise<void> {
    if (await this.#find(name)) await this.add(name);
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const [, content] = await this.#find(name) ?? [];
    if (!content) throw new Error(`Cannot find ${name} below ${this.#system}/`);
    return content;
  }

  async #find(name: string): Promise<[directory: string, content: Uint8Array<ArrayBuffer>] | undefined> {
    for (const directory of this.#directories) {
      const content = await readIfThere(`${this.#system}/${directory}/${name}`);
      if (content) return [directory, content];
    }
    return undefined;
  }
}

/**
 * Reads Mozilla's certificate authorities from the distribution's package, without others that this machine
 * trusts.
 */
async function readAuthorities(system: string): Promise<string> {
  const directory = `${system.replace(/\/+$/, "")}/usr/share/ca-certificates/mozilla`;
  const names = (await Array.fromAsync(Deno.readDir(directory)).catch((error) => {
    throw new Error(`Cannot read the authorities in ${directory}: install ca-certificates`, { cause: error });
  })).map(({ name }) => name).filter((name) => name.endsWith(".crt")).sort();
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${directory}/${name}`)));
  return texts.map((text) => `${text.trimEnd()}\n`).join("");
}

/** Collects the copyright files of the libraries, if the system has them. */
async function copyrights(system: string): Promise<TarEntry[]> {
  const entries: TarEntry[] = [];
  for (const name of ["ca-certificates", "libc6", "libgcc-s1"]) {
    const path = `usr/share/doc/${name}/copyright`;
    const content = await readIfThere(`${system.replace(/\/+$/, "")}/${path}`);
    if (content) entries.push(file(path, content));
  }
  return entries;
}

async function readIfThere(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function file(path: string, content: string | Uint8Array<ArrayBuffer>, mode = 0o644): TarEntry {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return { type: "file", path, mode, content: bytes };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
