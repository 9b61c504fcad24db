import { or } from "@optique/core/constructs";
import { withDefault } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { integer, string } from "@optique/core/valueparser";
import { PosternError, type World } from "../core/mod.ts";
import type { ArgumentParser } from "./command.ts";
import { words } from "./options.ts";

/** An option for a port, as upstream has it. */
export function listenPort(name: `--${string}`, standard: number, about: string): ArgumentParser<number> {
  const description = words(`${about} (default: ${standard})`);
  return withDefault(
    option(name, integer({ min: 0, max: 65_535, metavar: "PORT" }), { description }),
    standard,
  );
}

/** Options of upstream's programs that tune what works otherwise here: taken, so that a command line stays as it is. */
export function ignoredOptions(names: readonly `--${string}`[]): ArgumentParser<string> {
  const [first, ...rest] = names.map((name) =>
    option(name, string({ metavar: "VALUE" }), {
      description: words("Taken, and without effect."),
      hidden: true,
    })
  );
  let all = first as ArgumentParser<string>;
  for (const one of rest) all = or(all, one as ArgumentParser<string>);
  return all;
}

/** The first signal asks for an end, the second one demands it. */
export function untilSignals(
  world: World,
  signal: AbortSignal,
): { readonly first: AbortSignal; readonly second: AbortSignal } & AsyncDisposable {
  const [first, second] = [new AbortController(), new AbortController()];
  const stopped = () => new PosternError("cancelled", "Stopped by a signal");
  const heard = () => first.signal.aborted ? second.abort(stopped()) : first.abort(stopped());
  const listening = (["SIGTERM", "SIGINT"] as const).map((name) => world.process.on(name, heard));
  return {
    first: AbortSignal.any([first.signal, signal]),
    second: AbortSignal.any([second.signal, signal]),
    [Symbol.asyncDispose]: () => {
      for (const one of listening) one[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}
