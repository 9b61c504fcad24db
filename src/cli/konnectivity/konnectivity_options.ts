import { or } from "@optique/core/constructs";
import { optional, withDefault } from "@optique/core/modifiers";
import { message, text } from "@optique/core/message";
import { option } from "@optique/core/primitives";
import { string, type ValueParser } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import { logOptions, type switches } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ArgumentParser } from "../line/command.ts";
import { pathValue, wholeNumber, words } from "../line/options.ts";

/** An option for a port, as upstream has it. */
export function listenPort(name: `--${string}`, standard: number, about: string): ArgumentParser<number> {
  const description = words(`${about} (default: ${standard})`);
  return withDefault(
    option(name, wholeNumber({ min: 0, max: 65_535, metavar: "PORT" }), { description }),
    standard,
  );
}

/** Upstream's rule: neither ports of the system, nor those that it gives to connections. 0 is any that is free. */
export function expectPlainPorts(ports: Readonly<Record<`--${string}`, number>>): void {
  const wrong = Object.entries(ports).find(([, port]) => port !== 0 && (port < 1024 || port > 49_151));
  if (!wrong) return;
  const [name, port] = wrong;
  const why = port < 1024 ? "it is one of the system's" : "the system gives it to connections";
  throw new PosternError("usage", `Cannot use port ${port} for ${name}: ${why}`, {
    hint: "take one from 1024 to 49151",
  });
}

/** An option for an address to listen at; an empty one is every address, as in Go. */
export function listenAddress(name: `--${string}`, about: string, standard: string): ArgumentParser<string> {
  const described = standard === "" ? "every address" : standard;
  return withDefault(
    option(name, string({ metavar: "ADDR" }), { description: words(`${about} (default: ${described}).`) }),
    standard,
  );
}

/** An option that names a file. */
export function fileOption(name: `--${string}`, about: string): ArgumentParser<string | undefined> {
  return optional(option(name, pathValue("FILE"), { description: words(about) }));
}

/** An option for a text. */
export function textOption(
  name: `--${string}`,
  metavar: "NAME" | "LABELS" | "LIST" | "ID" | "VERSION",
  about: string,
): ArgumentParser<string | undefined> {
  return optional(option(name, string({ metavar }), { description: words(about) }));
}

/** A switch as Go has it: `--on`, `--on=true`, `--on=false`. */
export function switchOption(
  name: typeof switches[number],
  about: string,
  standard = false,
): ArgumentParser<boolean> {
  return withDefault(option(name, switchValue(), { description: words(about) }), standard);
}

/**
 * Options of upstream's programs that tune what works otherwise here, and those of their log: taken, so that a command
 * line stays as it is.
 */
export function ignoredOptions(names: readonly `--${string}`[]): ArgumentParser<string> {
  const [first, ...rest] = [...names, ...logOptions].map((name) =>
    option(name, string({ metavar: "VALUE" }), {
      description: words("Taken, and without effect."),
      hidden: true,
    })
  );
  let all = first as ArgumentParser<string>;
  for (const one of rest) all = or(all, one as ArgumentParser<string>);
  return all;
}

/** Longer than anything lasts, in ms, and short enough for a timer. */
export const never = 24 * 3600 * 1000;

/** The files that a command line names for TLS. */
export function tlsFiles(
  { ca, cert, key }: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  },
): { ca?: string; cert?: string; key?: string } {
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
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

/** A truth as Go's flags take it; none is true. */
export function switchValue(): ValueParser<"sync", boolean> {
  return {
    mode: "sync",
    metavar: "BOOL",
    placeholder: true,
    parse(input) {
      const isOn = ["", "true", "1", "t", "T", "TRUE", "True"].includes(input);
      if (isOn || ["false", "0", "f", "F", "FALSE", "False"].includes(input)) {
        return { success: true, value: isOn };
      }
      return { success: false, error: message`${text(`"${input.slice(0, 60)}" is neither true nor false`)}` };
    },
    format: String,
  };
}
