import { jsonIn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { type DesktopName, desktopNames } from "./desktops.ts";

/** A changed setting: its previous value and postern's value; null for the default. */
export interface ChangedSetting {
  readonly key: string;
  readonly before: string | null;
  readonly set: string;
  /** The value from an earlier `on`, which the setting keeps if the change to `set` fails. */
  readonly replaced?: string;
}

/** Whether postern gave the setting this value. */
export function isOurs({ set, replaced }: ChangedSetting, value: string | undefined): value is string {
  return value !== undefined && (value === set || value === replaced);
}

/** What `system-proxy on` changed; stored before the first change, so that it can be restored after a crash. */
export interface ProxyState {
  readonly desktop: DesktopName;
  /** The instance whose PAC file the system uses. */
  readonly id: string;
  readonly url: string;
  readonly settings: readonly ChangedSetting[];
}

const mostBytes = 1_000_000;

/** The stored state; undefined if the system proxy is not ours. */
export async function readProxyState(
  { files, places }: Pick<World, "files" | "places">,
): Promise<ProxyState | undefined> {
  const path = proxyStatePath({ places });
  const text = await files.readTextIfThere(path, { limit: mostBytes });
  if (text === undefined) return undefined;
  const value = jsonIn(text);
  if (isState(value)) return value;
  throw new PosternError("config", `Cannot read "${path}": not a state of postern system-proxy`, {
    detail: "damaged",
    hint: "check the system's proxy settings, then delete the file",
  });
}

export async function storeProxyState(
  { files, places }: Pick<World, "files" | "places">,
  state: ProxyState,
): Promise<void> {
  await files.replace(
    proxyStatePath({ places }),
    `${JSON.stringify({ version: 1, ...state }, undefined, 2)}\n`,
  );
}

/** The file with the previous settings. */
export function proxyStatePath({ places }: Pick<World, "places">): string {
  return `${places.state}/system-proxy.json`;
}

function isState(value: unknown): value is ProxyState {
  if (!isRecord(value) || value["version"] !== 1 || !Array.isArray(value["settings"])) return false;
  const { desktop, id, url, settings } = value;
  return desktopNames.some((name) => name === desktop) && isText(id) && isText(url) &&
    settings.every((one: unknown) =>
      isRecord(one) && isText(one["key"]) && isText(one["set"]) &&
      (one["before"] === null || isText(one["before"])) &&
      (one["replaced"] === undefined || isText(one["replaced"]))
    );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
