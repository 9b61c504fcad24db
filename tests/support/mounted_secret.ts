import { runPeer } from "./peer_program.ts";

/**
 * A secret as Kubernetes mounts it: each file is a link into `..data`, which is a link to a directory that is made anew
 * and swapped for each change.
 */
export class MountedSecret {
  readonly directory: string;
  readonly #sh: string;
  #version = 0;

  constructor(directory: string, sh: string) {
    this.directory = directory;
    this.#sh = sh;
  }

  path(name: string): string {
    return `${this.directory}/${name}`;
  }

  /** Has the secret's files be copies of these. */
  async put(files: Readonly<Record<string, string>>): Promise<void> {
    const version = `..version_${this.#version++}`;
    await Deno.mkdir(this.path(version), { recursive: true });
    for (const [name, from] of Object.entries(files)) {
      await Deno.copyFile(from, this.path(`${version}/${name}`));
    }
    const links = Object.keys(files).map((name) => `[ -e ${name} ] || ln -s ..data/${name} ${name}`);
    const script = [`cd "$1"`, `ln -s ${version} ..data_tmp`, "mv -T ..data_tmp ..data", ...links].join(
      " && ",
    );
    const { code, stderr } = await runPeer(this.#sh, ["-c", script, "sh", this.directory]);
    if (code !== 0) throw new Error(`the secret was not swapped: ${stderr}`);
  }
}
