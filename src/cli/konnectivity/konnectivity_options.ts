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

export function listenPort(name: `--${string}`, standard: number, about: string): ArgumentParser<number> {
  const description = words(`${about} (default: ${standard}).`);
  return withDefault(
    option(name, wholeNumber({ min: 0, max: 65_535, metavar: "PORT" }), { description }),
    standard,
  );
}

/** Rejects system ports and ephemeral ports, as upstream does. Port 0 is allowed: any free port. */
export function expectPlainPorts(ports: Readonly<Record<`--${string}`, number>>): void {
  const wrong = Object.entries(ports).find(([, port]) => port !== 0 && (port < 1024 || port > 49_151));
  if (!wrong) return;
  const [name, port] = wrong;
  const why = port < 1024 ? "system port" : "ephemeral port";
  throw new PosternError("usage", `Cannot use port ${port} for ${name}: ${why}`, {
    hint: "use a port from 1024 to 49151",
  });
}

/** An option for a listen address; an empty address means all addresses, as in Go. */
export function listenOption(name: `--${string}`, about: string, standard: string): ArgumentParser<string> {
  const described = standard === "" ? "all addresses" : standard;
  return withDefault(
    option(name, string({ metavar: "ADDR" }), { description: words(`${about} (default: ${described}).`) }),
    standard,
  );
}

export function fileOption(name: `--${string}`, about: string): ArgumentParser<string | undefined> {
  return optional(option(name, pathValue("FILE"), { description: words(about) }));
}

export function textOption(
  name: `--${string}`,
  metavar: "NAME" | "LABELS" | "LIST" | "ID" | "VERSION",
  about: string,
): ArgumentParser<string | undefined> {
  return optional(option(name, string({ metavar }), { description: words(about) }));
}

/** A switch in Go's syntax: `--on`, `--on=true`, `--on=false`. */
export function switchOption(
  name: typeof switches[number],
  about: string,
  standard = false,
): ArgumentParser<boolean> {
  return withDefault(option(name, switchValue(), { description: words(about) }), standard);
}

/**
 * Options of upstream's programs that have no effect in postern: tuning and log options. Accepting them keeps
 * upstream's command lines working.
 */
export function ignoredOptions(names: readonly `--${string}`[]): ArgumentParser<string> {
  const [first, ...rest] = [...names, ...logOptions].map((name) =>
    option(name, string({ metavar: "VALUE" }), {
      description: words("Accepted without effect."),
      hidden: true,
    })
  );
  let all = first as ArgumentParser<string>;
  for (const one of rest) all = or(all, one as ArgumentParser<string>);
  return all;
}

/** A practically unlimited time in ms that a timer still accepts. */
export const never = 24 * 3600 * 1000;

/** The TLS files of a command line. */
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

/** `first` aborts at the first SIGTERM or SIGINT, `second` at the second one. */
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

/** A boolean in Go's syntax; an empty value is true. */
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
