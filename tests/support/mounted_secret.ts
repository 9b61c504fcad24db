import { runPeer } from "./peer_program.ts";

/**
 * A secret as mounted by Kubernetes: each file is a link into `..data`, which is a link to a directory. Each
 * change creates a new directory and swaps the link.
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

  /** Replaces the secret's files with copies of these. */
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
    if (code !== 0) throw new Error(`Cannot swap the secret: ${stderr}`);
  }
}
