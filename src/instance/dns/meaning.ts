import { silentLog } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ExplanationInfo } from "../../control/mod.ts";
import type { Settings, Transports } from "../../plan/mod.ts";
import { type FakeRange, lookupRange } from "../../dns/mod.ts";
import { FakeAddresses, fakeAddressFile, lookupFile } from "./fake_addresses.ts";

/** The target that a client means: the requested one, or the name that its fake address stands for. */
export interface Meaning {
  readonly target: Target;
  /** The requested fake address. */
  readonly by?: string;
  /** Set when the fake address has no name. */
  readonly error?: PosternError;
}

/** The addresses that stand for names. */
export interface StandIns {
  /** The addresses of `dns.fakeRange`. */
  readonly fakes?: FakeAddresses | undefined;
  /** The addresses of `lookupRange`; an unassigned one is an address like any other. */
  readonly lookups?: FakeAddresses | undefined;
}

/** Replaces a fake address with its name. */
export function meaningOf(target: Target, { fakes, lookups }: StandIns): Meaning {
  const name = fakes?.nameOf(target.host) ?? (lookups?.nameOf(target.host) || undefined);
  if (name === undefined) return { target };
  if (name !== "") return { target: { host: name, port: target.port }, by: target.host };
  const error = new PosternError(
    "name_not_found",
    `Cannot reach ${target.host}: the address belongs to no name`,
    {
      hint: "look the name up again: this instance assigns the addresses of dns.fakeRange",
    },
  );
  return { target, error };
}

/** The same, from the files with an instance's fake addresses. */
export async function storedMeaningOf(
  target: Target,
  { world, settings, id }: { readonly world: World; readonly settings: Settings; readonly id: string },
): Promise<Meaning> {
  const range = settings.dns?.fakeRange;
  const read = (path: string, range: FakeRange) => FakeAddresses.read(world, path, { range, log: silentLog });
  return meaningOf(target, {
    fakes: range && await read(fakeAddressFile(world, id), range),
    lookups: await read(lookupFile(world, id), lookupRange),
  });
}

/** The reason for a route, with the fake address if the client requested one. */
export function becauseAsked(because: string, { by }: Pick<Meaning, "by">): string {
  return by === undefined ? because : `${because}, requested as ${by}`;
}

/** Explains the route of a target; with `dial`, also whether it can be reached. */
export async function explainMeant(
  transports: Transports,
  meaning: Meaning,
  options: { readonly dial: boolean; readonly signal: AbortSignal },
): Promise<ExplanationInfo> {
  if (meaning.error) throw meaning.error;
  const explanation = await transports.explain(meaning.target, options);
  return { ...explanation, because: becauseAsked(explanation.because, meaning) };
}
