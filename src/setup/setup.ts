import { documentLimit, isMapping, parseDocument } from "../config/mod.ts";
import { loadKubernetes } from "../kube/mod.ts";
import { listenerKinds } from "../listeners/mod.ts";
import { PosternError, targetOf } from "../words/mod.ts";
import { directoryOf, type World } from "../world/mod.ts";
import {
  configPath,
  configSchema,
  demandLoaded,
  isAmong,
  listenOf,
  type LoadedConfig,
  readConfig,
} from "../plan/mod.ts";
import { lookAround, usualPort } from "./look_around.ts";
import type { Existing, Proposal } from "./proposal.ts";
import { isEmpty, propose } from "./propose.ts";
import { serverKey } from "./propose_clusters.ts";
import type { SetupCheck } from "./trial.ts";
import { tryProposal } from "./try_proposal.ts";

export interface SetupOptions {
  /** The configuration (default: from the environment or the platform). */
  readonly config?: string | undefined;
  /** Whether a user at the terminal answers questions. */
  readonly asks: boolean;
  /** The timeout of each check, in ms. */
  readonly limit: number;
  /** Gets the number of lines to check before the first result. */
  readonly begin: (count: number) => Promise<void>;
  readonly told: (check: SetupCheck) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The changes of a configuration, and why. */
export interface SetupPlan {
  readonly path: string;
  readonly isNew: boolean;
  /** The text of the configuration before and after; equal if there is nothing to add. */
  readonly before: string;
  readonly after: string;
  readonly proposal: Proposal;
  /** What postern found and does not propose. */
  readonly notes: readonly string[];
  readonly checks: readonly SetupCheck[];
}

/** Looks around, proposes what is missing from the configuration, and tries every line. Writes nothing. */
export async function planSetup(
  world: World,
  { config, asks, limit, begin, told, signal }: SetupOptions,
): Promise<SetupPlan> {
  const path = configPath(world, config);
  const text = await world.files.readTextIfThere(path, { limit: documentLimit });
  const before = text ?? "";
  const read = (more: { readonly withoutCatalogues: boolean }) =>
    readConfig(world, { config: path, ...more, ...(text === undefined && { text: "" }) });
  const own = demandLoaded(await read({ withoutCatalogues: true }));
  const { rules, catalogues } = demandLoaded(await read({ withoutCatalogues: false }));
  const { value } = await parseDocument(before, { name: path });
  const shown = shortened(world);
  const listen = listenOf(own.settings);
  const listening = listenerKinds.flatMap((kind) => listen[kind] ?? [])
    .flatMap(({ address }) => address.sockets.map(({ endpoint }) => endpoint));
  const isOwn = (url: URL) => isAmong(targetOf(url), listening);
  const isUsualPort = isAmong({ host: "127.0.0.1", port: usualPort }, listening);
  const sshConfig = own.settings.ssh?.config;
  const found = await lookAround(world, { sshConfig, isOwn, isUsualPort, shown, signal });
  const existing = await existingOf(world, { own, rules, value, stored: catalogues.map(({ name }) => name) });
  const whole = propose(found, { existing, isOwn, directory: directoryOf(path), shown });
  const { withProposal } = await import("./insert_proposal.ts");
  const checks: SetupCheck[] = [];
  const nothing = { path, isNew: text === undefined, before, after: before, notes: whole.notes, checks };
  if (isEmpty(whole)) return { ...nothing, proposal: whole };
  await begin(whole.transports.length + whole.catalogues.length);
  const proposal = await tryProposal(world, whole, {
    textOf: (proposal) => withProposal(before, proposal),
    path,
    asks,
    limit,
    signal,
    told: async (check) => {
      checks.push(check);
      await told(check);
    },
  });
  if (isEmpty(proposal)) return { ...nothing, proposal };
  const after = withProposal(before, proposal);
  demandLoaded(await readConfig(world, { text: after, config: path }));
  return { ...nothing, after, proposal };
}

/** Writes the files of a plan; returns their paths. Fails if the configuration has changed meanwhile. */
export async function applySetup(world: World, plan: SetupPlan): Promise<readonly string[]> {
  const { files } = world;
  const { path, isNew, before, after, proposal } = plan;
  const directory = directoryOf(path);
  if (await files.readTextIfThere(path, { limit: documentLimit }) !== (isNew ? undefined : before)) {
    throw new PosternError("config", `Cannot write "${path}": the file has changed since postern read it`, {
      hint: "run postern setup again",
    });
  }
  if (!await files.info(directory)) await files.privateDirectory(directory);
  const written: string[] = [];
  for (const { path, text } of proposal.secrets) {
    const there = await files.readTextIfThere(path, { limit: documentLimit });
    if (there === text) continue;
    if (there !== undefined) {
      throw new PosternError("config", `Cannot write "${path}": the file exists`, {
        hint: "move the file away, then run postern setup again",
      });
    }
    await files.replace(path, text);
    written.push(path);
  }
  // A symbolic link stays: many people keep their configuration in a repository.
  const real = isNew ? path : await files.real(path);
  const mode = (await files.info(real))?.mode;
  await files.replace(real, after, mode === undefined ? {} : { mode: mode & 0o777 });
  written.push(path);
  const schema = `${directory}/postern.schema.json`;
  if (isNew && !await files.info(schema)) {
    await files.replace(schema, `${JSON.stringify(await configSchema(), null, 2)}\n`, { mode: 0o644 });
    written.push(schema);
  }
  return written;
}

/** Replaces the user's home by a tilde. */
function shortened({ places }: World): (text: string) => string {
  const home = places.home.replace(/[/\\]$/, "");
  return (text) => home === "" ? text : text.replaceAll(`${home}/`, "~/");
}

interface Known {
  /** The configuration without catalogues. */
  readonly own: LoadedConfig;
  /** The rules of the configuration and of its catalogues. */
  readonly rules: Existing["rules"];
  readonly value: unknown;
  /** The names of the stored catalogues that postern uses. */
  readonly stored: readonly string[];
}

async function existingOf({ files }: World, { own, rules, value, stored }: Known): Promise<Existing> {
  const { transports, catalogues = [] } = own.settings;
  const servers = new Map<string, string>();
  const { readKubeConfig } = await loadKubernetes();
  for (const [name, { kind, settings }] of Object.entries(transports)) {
    if (kind !== "kubernetes" || !isMapping(settings) || !Array.isArray(settings["kubeconfigs"])) continue;
    // A transport whose kubeconfig is missing reaches no cluster; `postern config check` reports it.
    const config = await readKubeConfig(files, settings["kubeconfigs"]).catch(() => undefined);
    if (!config) continue;
    const { context = config.currentContext, contexts } = settings;
    const names = contexts === "all" ? config.contextNames : Array.isArray(contexts) ? contexts : [context];
    for (const one of names) {
      try {
        if (typeof one === "string") servers.set(serverKey(config.context(one).cluster.server), name);
      } catch {
        // The same for a context that does not exist.
      }
    }
  }
  const keys = isMapping(value) ? value : {};
  return {
    transports,
    rules,
    catalogues: catalogues.map(({ lieutenant, name }) => ({ url: lieutenant.href, name })),
    unnamed: own.settings.catalogues ? [] : stored,
    hasDefault: Object.hasOwn(keys, "default") || rules.some(({ pattern }) => pattern.kind === "any"),
    hasListen: Object.hasOwn(keys, "listen"),
    servers,
  };
}
