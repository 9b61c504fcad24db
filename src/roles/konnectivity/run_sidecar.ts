import { type Log, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { loadKonnectivity } from "../../konnectivity/mod.ts";
import { ConfigWatch, loadConfig, tryConfig } from "../../plan/mod.ts";
import { Instance } from "../../instance/mod.ts";
import { sidecarConfig, type SidecarSettings } from "./sidecar_config.ts";

export interface SidecarOptions {
  readonly version: string;
  readonly log: Log;
  readonly onReady: (addresses: readonly string[]) => Promise<void>;
  /** Accepts no more clients and lets open connections finish. */
  readonly draining: AbortSignal;
}

/** Runs one of HyperShift's proxies until it has drained; the signal drops the remaining connections. */
export async function runKonnectivitySidecar(
  settings: SidecarSettings,
  world: World,
  { version, log, onReady, draining, signal }: SidecarOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const text = JSON.stringify(sidecarConfig(settings));
  const config = await loadConfig(world, { text });
  const { healthPages } = await loadKonnectivity();
  await using instance = new Instance(world, config, {
    version,
    id: `konnectivity-${settings.kind}`,
    log,
    asks: "nobody",
    pages: (instance) =>
      healthPages({
        checks: [{ name: "ping", isSo: () => true }, {
          name: "serving",
          isSo: () => instance.phase === "ready",
        }],
        notReady: 503,
        metrics: () => instance.collect(),
      }),
  });
  await instance.open();
  // The guest cluster's operator replaces the kubeconfig; a reload reads the new one.
  using watch = new ConfigWatch(world, log, () => {
    // A failed reload is logged.
    instance.reload(async (apply) => await apply(await tryConfig(world, { text }))).catch(() => {});
  });
  if (settings.kubeconfigs !== undefined) await follow(watch, settings.kubeconfigs, world);
  const addresses = instance.listeners.map(({ address }) => address);
  if (settings.isOpen && !settings.user) {
    log.warn("instance.open", { reason: "every client that can reach a listener may use it" });
  }
  log.info("instance.ready", { addresses: addresses.join(" "), pid: world.process.pid });
  await onReady(addresses);
  await new Promise<void>((resolve) => void whenAborted(draining, resolve));
  using _drop = whenAborted(
    signal,
    () => instance.dropAll(new PosternError("cancelled", "The instance was stopped")),
  );
  await instance.drain();
}

async function follow(watch: ConfigWatch, paths: readonly string[], { files }: World): Promise<void> {
  const texts = new Map<string, string | undefined>();
  // A missing or unreadable file may appear later.
  for (const path of paths) texts.set(path, await files.readTextIfThere(path).catch(() => undefined));
  await watch.follow({ texts });
}
