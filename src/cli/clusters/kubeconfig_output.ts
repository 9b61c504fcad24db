import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import type { Kubeconfig } from "../../kube/mod.ts";
import { counted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { fromInstanceOrFiles } from "../instance/from_instance_or_files.ts";
import { instanceOption, pathValue, words } from "../line/options.ts";
import { printableLines } from "../output/printable.ts";

/** Where a kubeconfig goes, and whose door it names. */
export interface OutputWords {
  readonly file: string | undefined;
  readonly merge: boolean;
  readonly temp: boolean;
  readonly force: boolean;
  readonly id: string | undefined;
}

/** `--file FILE --merge --temp --force --id ID`. */
export const outputWords = object({
  file: optional(option("--file", pathValue("FILE"), {
    description: words("Writes it there, readable by you only; what postern did not write is not replaced."),
  })),
  merge: option("--merge", {
    description: words(
      "Adds it to an existing kubeconfig: that of --file, else the file of $KUBECONFIG that kubectl writes, else ~/.kube/config.",
    ),
  }),
  temp: option("--temp", {
    description: words("Writes a temporary file, readable by you only, and prints its path."),
  }),
  force: option("--force", {
    description: words("Replaces a file that postern did not write, or entries that lead elsewhere."),
  }),
  id: instanceOption(),
});

/** Whether it goes to a file, which is for its owner only. */
export function goesToFile({ file, merge, temp }: OutputWords): boolean {
  if (temp && (file !== undefined || merge)) {
    throw new PosternError("usage", "Cannot write a kubeconfig: --temp is a file of its own", {
      hint: "leave out --temp, or --file and --merge",
    });
  }
  return file !== undefined || merge || temp;
}

/** Prints a kubeconfig, or writes it where it is wanted and says so on stderr. */
export async function giveOut(
  world: World,
  kubeconfig: Kubeconfig,
  { file, merge, temp, force }: OutputWords,
  { signal }: Pick<RunContext, "signal">,
): Promise<void> {
  const { terminal, files } = world;
  const { mergeKubeconfigFile, writeKubeconfigFile, writtenKubeconfig } = await import("../../kube/mod.ts");
  const { temporaryKubeconfig } = await import("../../programs/mod.ts");
  const { writtenKubeconfigs } = await import("../../plan/mod.ts");
  if (temp) {
    const [first] = kubeconfig.clusters;
    return await terminal.out(`${await temporaryKubeconfig(world, first?.name ?? "", kubeconfig)}\n`);
  }
  if (file === undefined && !merge) return await terminal.out(await writtenKubeconfig(kubeconfig));
  const [path, ...behind] = file === undefined ? await writtenKubeconfigs(world) : [file] as const;
  if (merge) await mergeKubeconfigFile(world, path, kubeconfig, { force, behind, signal });
  else await writeKubeconfigFile(files, path, kubeconfig, { force });
  const done = merge ? "added to" : "written to";
  await terminal.err(
    `postern: ${counted(kubeconfig.clusters.length, "cluster")} ${done} ${printableLines(path)}\n`,
  );
}

/** What `proxy-url` is, asked of the running door first. */
export async function listenerAddress(
  world: World,
  id: string,
  { credentials, context }: { readonly credentials: boolean; readonly context: RunContext },
): Promise<string> {
  const { signal } = context;
  const { proxyUrl, socks, needsAuth } = await fromInstanceOrFiles(world, id, context, {
    instance: (client) => client.env({ credentials, signal }),
    files: ({ environmentFromFiles }, sources) => environmentFromFiles(world, sources, { credentials }),
  });
  if (needsAuth && !credentials) {
    throw new PosternError(
      "auth",
      "Cannot write a kubeconfig that works: the door asks for a user and a password",
      { hint: "add --with-credentials, or write a file: --file FILE" },
    );
  }
  return proxyUrl ?? socks.replace(/^socks5h:/, "socks5:");
}
