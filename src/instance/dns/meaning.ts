import { silentLog } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ExplanationInfo } from "../../control/mod.ts";
import type { Settings, Transports } from "../../plan/mod.ts";
import { FakeAddresses, fakeAddressFile } from "./fake_addresses.ts";

/** What a target means: itself, or the name that its address stands for. */
export interface Meaning {
  readonly target: Target;
  /** The address it was asked for by. */
  readonly by?: string;
  /** Why it can mean nothing. */
  readonly error?: PosternError;
}

/** What a client means that asks for a target, by the addresses that were given out for names. */
export function meaningOf(target: Target, fakes: FakeAddresses | undefined): Meaning {
  const name = fakes?.nameOf(target.host);
  if (name === undefined) return { target };
  if (name !== "") return { target: { host: name, port: target.port }, by: target.host };
  const error = new PosternError("name_not_found", `Cannot reach ${target.host}: it stands for no name`, {
    hint: "look the name up again: addresses of dns.fakeRange are given out by this door's DNS",
  });
  return { target, error };
}

/** The same by the file in which an instance keeps the addresses that it gave out. */
export async function storedMeaningOf(
  target: Target,
  { world, settings, id }: { readonly world: World; readonly settings: Settings; readonly id: string },
): Promise<Meaning> {
  const range = settings.dns?.fakeRange;
  if (!range) return { target };
  return meaningOf(
    target,
    await FakeAddresses.read(world, fakeAddressFile(world, id), { range, log: silentLog }),
  );
}

/** Why a target goes somewhere, with the address that was asked for where it stands for a name. */
export function becauseAsked(because: string, { by }: Pick<Meaning, "by">): string {
  return by === undefined ? because : `${because}, asked for as ${by}`;
}

/** Where what is meant would go, and with `dial` whether it can be reached. */
export async function explainMeant(
  transports: Transports,
  meaning: Meaning,
  options: { readonly dial: boolean; readonly signal: AbortSignal },
): Promise<ExplanationInfo> {
  if (meaning.error) throw meaning.error;
  const explanation = await transports.explain(meaning.target, options);
  return { ...explanation, because: becauseAsked(explanation.because, meaning) };
}
