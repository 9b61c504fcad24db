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

/** The destination of a kubeconfig, and the instance whose listener it names. */
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
    description: words("Write to FILE, readable only by you; replaces only a file that postern wrote."),
  })),
  merge: option("--merge", {
    description: words(
      "Add to an existing kubeconfig: --file, else the file of $KUBECONFIG that kubectl would change, else ~/.kube/config.",
    ),
  }),
  temp: option("--temp", {
    description: words("Write a temporary file, readable only by you, and print its path."),
  }),
  force: option("--force", {
    description: words("Replace a file that postern did not write, or entries for another server."),
  }),
  id: instanceOption(),
});

/** Whether the kubeconfig goes to a file instead of stdout. */
export function goesToFile({ file, merge, temp }: OutputWords): boolean {
  if (temp && (file !== undefined || merge)) {
    throw new PosternError("usage", "Cannot write a kubeconfig: --temp excludes --file and --merge", {
      hint: "omit --temp, or --file and --merge",
    });
  }
  return file !== undefined || merge || temp;
}

/** Prints a kubeconfig, or writes it to its file and reports that on stderr. */
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

/** The value of `proxy-url`, from the running instance or else from the configuration. */
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
      "Cannot write a usable kubeconfig: the instance requires a user and a password",
      { hint: "add --with-credentials, or write a file with --file FILE" },
    );
  }
  return proxyUrl ?? socks.replace(/^socks5h:/, "socks5:");
}
