import { loadKubernetes } from "../kube/mod.ts";
import { documentLimit, isMapping, parseDocument } from "../config/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { usualKubeconfigs } from "../plan/mod.ts";
import { formerValue } from "../routing/mod.ts";
import { surveySsh } from "../ssh/mod.ts";
import { withOwner } from "../instances/mod.ts";
import type { Found, FoundCatalogue } from "./propose.ts";
import type { FoundContext } from "./propose_clusters.ts";

export interface LookOptions {
  /** The ssh configuration that postern's configuration names. */
  readonly sshConfig?: string | undefined;
  readonly isOwn: (url: URL) => boolean;
  /** Whether postern listens on its usual port. */
  readonly isUsualPort: boolean;
  /** Shortens a path for people. */
  readonly shown: (text: string) => string;
  readonly signal: AbortSignal;
}

/** The maximum number of other files in ~/.kube to look at, and their maximum size. */
const mostFiles = 64;
const mostBytes = 1024 * 1024;

/** Looks for clusters, ssh hosts, proxies and catalogues on this machine. Connects to nothing. */
export async function lookAround(world: World, options: LookOptions): Promise<Found> {
  const { process } = world;
  const { sshConfig, isUsualPort, shown, signal } = options;
  const notes: string[] = [];
  const contexts = await foundContexts(world, options, notes);
  const ssh = await surveySsh(world, { config: sshConfig, signal });
  const proxies: Record<string, string> = {};
  for (const name of ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]) {
    for (const variable of [name, name.toUpperCase()]) {
      // After `postern env`, the variables name an instance, and the former values are saved.
      const value = formerValue(variable, (name) => process.env(name));
      if (value !== undefined) proxies[variable] = value;
    }
  }
  const catalogues = await foundCatalogues(world, notes, shown);
  const listen = isUsualPort ? await otherAddress(world) : undefined;
  return { contexts, ssh, proxies, catalogues, ...(listen && { listen }), notes };
}

/** The contexts of the kubeconfigs that kubectl reads, and of other kubeconfigs in ~/.kube. */
async function foundContexts(
  world: World,
  { isOwn, shown }: LookOptions,
  notes: string[],
): Promise<FoundContext[]> {
  const { files, places } = world;
  const { readKubeConfig } = await loadKubernetes();
  const home = `${places.home}/.kube/config`;
  // Inside `postern shell`, KUBECONFIG names a temporary file.
  const usual = world.process.env("POSTERN_CLUSTER") ? [home] : usualKubeconfigs(world);
  const groups: { readonly paths: readonly string[]; readonly isUsual: boolean }[] = [
    { paths: usual, isUsual: true },
    ...!usual.includes(home) ? [{ paths: [home], isUsual: false }] : [],
    ...(await otherKubeconfigs(world)).filter((path) => !usual.includes(path))
      .map((path) => ({ paths: [path], isUsual: false })),
  ];
  const found: FoundContext[] = [];
  for (const { paths, isUsual } of groups) {
    const present: string[] = [];
    for (const path of paths) if (await files.info(path).catch(() => undefined)) present.push(path);
    if (present.length === 0) continue;
    try {
      const config = await readKubeConfig(files, present);
      for (const name of config.contextNames) {
        const { file, place } = await placeOf(world, present, name);
        const at = `${shown(file)}${place}`;
        try {
          const { cluster: { server, proxyUrl }, user } = config.context(name);
          // A file that kubectl does not read may come from anywhere. A test would run its plugin, or send any file
          // of the user to its server.
          const risk = user.exec
            ? `the program ${user.exec.command}`
            : user.tokenFile !== undefined
            ? `the file ${shown(user.tokenFile)}`
            : undefined;
          if (!isUsual && file !== home && risk !== undefined) {
            notes.push(`${at}: ${name} signs in with ${risk}: to add it, set KUBECONFIG to this file`);
            continue;
          }
          found.push({
            name,
            // A service does not know the KUBECONFIG of this shell.
            files: isUsual && present.length === 1 && present[0] === home ? [] : present,
            place: at,
            isCurrent: isUsual && name === config.currentContext,
            server,
            proxy: proxyUrl && { place: `${proxyUrl.protocol}//${proxyUrl.host}`, isOwn: isOwn(proxyUrl) },
          });
        } catch (error) {
          notes.push(`${at}: ${shown(describe(error))}`);
        }
      }
    } catch (error) {
      notes.push(shown(describe(error)));
    }
  }
  return found;
}

/** Other files in ~/.kube that look like kubeconfigs. */
async function otherKubeconfigs({ files, places }: World): Promise<string[]> {
  const directory = `${places.home}/.kube`;
  const names = await files.list(directory).catch((error) => {
    // Most people have no such directory; one that cannot be read has no kubeconfig that kubectl could read.
    if (error instanceof PosternError) return [];
    throw error;
  });
  const found: string[] = [];
  for (const name of [...names].sort().slice(0, mostFiles)) {
    if (name === "config" || !/^[\w.-]*(?:config|kube)[\w.-]*$|\.(?:ya?ml|conf)$/i.test(name)) continue;
    const path = `${directory}/${name}`;
    const info = await files.info(path).catch(() => undefined);
    if (info?.kind !== "file" || info.size > mostBytes || /(?:~|\.bak|\.lock|\.swp|\.old)$/.test(name)) {
      continue;
    }
    const text = await files.readText(path, { limit: mostBytes }).catch(() => "");
    if (/["']?kind["']?\s*:\s*["']?Config\b/.test(text) && /\bcontexts\b/.test(text)) found.push(path);
  }
  return found;
}

/** The file of a context, and its line after a colon if it is known. */
async function placeOf(
  { files }: World,
  paths: readonly string[],
  context: string,
): Promise<{ readonly file: string; readonly place: string }> {
  for (const path of paths) {
    const text = await files.readText(path, { limit: documentLimit }).catch(() => "");
    const document = await parseDocument(text, { name: path });
    const list = isMapping(document.value) ? document.value["contexts"] : undefined;
    const at = Array.isArray(list) ? list.findIndex((one) => isMapping(one) && one["name"] === context) : -1;
    if (at < 0) continue;
    const line = document.locate(["contexts", at])?.line;
    return { file: path, place: line === undefined ? "" : `:${line}` };
  }
  return { file: paths[0] ?? "", place: "" };
}

/** The catalogues in the environment, and those that commodore has signed in to. */
async function foundCatalogues(
  { files, process, places }: World,
  notes: string[],
  shown: (text: string) => string,
): Promise<FoundCatalogue[]> {
  const found: FoundCatalogue[] = [];
  const add = (text: string, place: string, oidc: FoundCatalogue["oidc"] = {}) => {
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
      notes.push(`${place}: the value is not the URL of a Lieutenant API`);
    } else found.push({ url, place, oidc });
  };
  const oidc = {
    clientId: process.env("COMMODORE_OIDC_CLIENT"),
    discoveryUrl: process.env("COMMODORE_OIDC_DISCOVERY_URL"),
  };
  for (const variable of ["LIEUTENANT_URL", "COMMODORE_API_URL"]) {
    const value = process.env(variable);
    if (value) add(value, variable, oidc);
  }
  const base = process.env("XDG_CACHE_HOME");
  const path = `${base?.startsWith("/") ? base : `${places.home}/.cache`}/commodore/token`;
  try {
    const info = await files.info(path);
    const isForeign = info?.owner !== undefined && process.uid !== undefined && info.owner !== process.uid;
    if (isForeign || ((info?.mode ?? 0) & 0o022) !== 0) {
      notes.push(`${shown(path)}: ignored, because other users can write to it`);
      return found;
    }
    const text = await files.readTextIfThere(path, { limit: mostBytes });
    const tokens: unknown = text === undefined ? {} : JSON.parse(text);
    for (const url of isMapping(tokens) ? Object.keys(tokens) : []) add(url, shown(path));
  } catch (error) {
    // A SyntaxError quotes the text, which contains tokens.
    notes.push(error instanceof SyntaxError ? `${shown(path)}: it is not JSON` : shown(describe(error)));
  }
  return found;
}

/** The usual port of the listener. */
export const usualPort = 12000;

/** Another port for the listener if a program other than postern uses the usual one. */
async function otherAddress(world: World): Promise<Found["listen"]> {
  const usual = usualPort;
  for (let port = usual; port < usual + 20; port++) {
    try {
      await using _listening = world.network.listen({ host: "127.0.0.1", port });
      return port === usual
        ? undefined
        : { address: `localhost:${port}`, reason: `Another program uses port ${usual}` };
    } catch (error) {
      // An error with another hint names one of our own instances.
      if (port === usual && await withOwner(world, error).catch(() => error) !== error) return undefined;
      if (!(error instanceof PosternError) || error.detail !== "in_use") return undefined;
    }
  }
  return undefined;
}
