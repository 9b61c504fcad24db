import { silentLog } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ExplanationInfo } from "../../control/mod.ts";
import { type FakeRange, lookupRange } from "../../dns/mod.ts";
import type { Settings, Transports } from "../../plan/mod.ts";
import { addressFile, FakeAddresses } from "./fake_addresses.ts";

/** The target that a client means: the requested one, or the name that its fake address stands for. */
export interface Meaning {
  readonly target: Target;
  /** The requested fake address. */
  readonly by?: string;
  /** Set when the address of a range has no name. */
  readonly failure?: { readonly range: string; readonly error: PosternError };
}

/** The addresses that stand for names: of the fake range, of the loopback range, and of lookups. */
export interface NamedAddresses {
  readonly fakes?: Pick<FakeAddresses, "nameOf"> | undefined;
  readonly loopback?: Pick<FakeAddresses, "nameOf"> | undefined;
  /** An unassigned address of `lookupRange` is an address like any other. */
  readonly lookups?: Pick<FakeAddresses, "nameOf"> | undefined;
}

/** Replaces an address that stands for a name with the name. */
export function meaningOf(target: Target, { fakes, loopback, lookups }: NamedAddresses): Meaning {
  for (const [range, addresses] of [["dns.fakeRange", fakes], ["dns.loopback", loopback]] as const) {
    const name = addresses?.nameOf(target.host);
    if (name === undefined) continue;
    if (name !== "") return { target: { host: name, port: target.port }, by: target.host };
    const error = new PosternError(
      "name_not_found",
      `Cannot reach ${target.host}: the address belongs to no name`,
      {
        hint: `look the name up again: this instance assigns the addresses of ${range}`,
      },
    );
    return { target, failure: { range, error } };
  }
  const name = lookups?.nameOf(target.host) ?? "";
  return name === "" ? { target } : { target: { host: name, port: target.port }, by: target.host };
}

/** The same, from the files with an instance's addresses. */
export async function storedMeaningOf(
  target: Target,
  { world, settings, id }: { readonly world: World; readonly settings: Settings; readonly id: string },
): Promise<Meaning> {
  const read = async (range: FakeRange | undefined, path: string) =>
    range && await FakeAddresses.read(world, path, { range, log: silentLog });
  return meaningOf(target, {
    fakes: await read(settings.dns?.fakeRange, addressFile(world, id, "addresses")),
    loopback: await read(settings.dns?.loopback, addressFile(world, id, "loopback")),
    lookups: await read(lookupRange, addressFile(world, id, "lookups")),
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
  if (meaning.failure) throw meaning.failure.error;
  const explanation = await transports.explain(meaning.target, options);
  return { ...explanation, because: becauseAsked(explanation.because, meaning) };
}
