import {
  described,
  dictionary,
  kinded,
  optional,
  type Problem,
  type Schema,
  suggestion,
  text,
} from "../config/mod.ts";
import type { TransportKind } from "./define_transport.ts";

export interface TransportSettings {
  /** The kind's `type`. */
  readonly kind: string;
  readonly settings: unknown;
  /** The transport to connect through. */
  readonly via?: string;
}

/** The section `transports`. */
export type TransportsSettings = Readonly<Record<string, TransportSettings>>;

export const implicitNames: readonly string[] = ["direct", "reject"];

/** Returns the schema of the section `transports` for the given kinds. */
export function transportsSchemaOf(kinds: readonly TransportKind[]): Schema<TransportsSettings> {
  const one = kinded(Object.fromEntries(kinds.map(({ type, settings }) => [type, settings])), {
    also: {
      via: optional(
        described(
          text(),
          "The transport to connect through (default: direct).",
        ),
      ),
    },
    describe: "a transport",
  });
  const all = dictionary<TransportSettings>(one, {
    key: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    describe: "up to 63 letters, digits, dots, dashes and underscores, a letter or digit first",
  });
  return {
    ...all,
    json: (definitions) => all.json(definitions),
    parse(value, context) {
      const settings = all.parse(value, context);
      // Check the raw section, so that an error elsewhere does not hide these problems.
      const problems = [
        ...viaProblems(settings ?? viasOf(value)),
        ...referenceProblems(kinds, settings ?? {}),
      ];
      for (const problem of problems) {
        context.problems.push({ ...problem, path: [...context.path, ...problem.path] });
      }
      return problems.length === 0 ? settings : undefined;
    },
  };
}

/** Finds problems with names and `via`: built-in or unknown names, and loops. Paths start at the section. */
export function viaProblems(transports: Readonly<Record<string, { readonly via?: string }>>): Problem[] {
  const problems: Problem[] = [];
  const names = Object.keys(transports);
  const told = new Set<string>();
  for (const name of names) {
    if (implicitNames.includes(name)) {
      problems.push({ path: [name], message: "must have another name: this one is built in", on: "key" });
    }
    const via = transports[name]?.via;
    if (via === undefined) continue;
    if (!Object.hasOwn(transports, via) && !implicitNames.includes(via)) {
      const known = [...new Set([...names.filter((other) => other !== name), ...implicitNames])];
      const meant = suggestion(via, known) || `: known transports are ${known.join(", ")}`;
      problems.push({ path: [name, "via"], message: `names the unknown transport "${via}"${meant}` });
      continue;
    }
    const circle = circleFrom(name, transports);
    if (!circle || told.has(name)) continue;
    for (const member of circle) told.add(member);
    problems.push({
      path: [name, "via"],
      message: `must not form a loop: ${[...circle, name].join(" via ")}`,
    });
  }
  return problems;
}

/** Finds problems with references between transports. */
function referenceProblems(kinds: readonly TransportKind[], transports: TransportsSettings): Problem[] {
  return Object.entries(transports).flatMap(([name, { kind, settings }]) => {
    const references = kinds.find(({ type }) => type === kind)?.references?.(settings) ?? [];
    return references.flatMap((reference): Problem[] => {
      const path = [name, kind, ...reference.path];
      const named = Object.hasOwn(transports, reference.name) ? transports[reference.name] : undefined;
      if (named) {
        const message = reference.problem(named);
        return message === undefined ? [] : [{ path, message }];
      }
      const known = Object.keys(transports).filter((other) => other !== name);
      const meant = suggestion(reference.name, known) ||
        `: known transports are ${known.join(", ") || "none"}`;
      return [{ path, message: `names the unknown transport "${reference.name}"${meant}` }];
    });
  });
}

/** Returns the transports from `name` back to itself, or undefined without a loop. */
function circleFrom(
  name: string,
  transports: Readonly<Record<string, { readonly via?: string }>>,
): string[] | undefined {
  const path = [name];
  let at = transports[name]?.via;
  while (at !== undefined && Object.hasOwn(transports, at)) {
    if (at === name) return path;
    if (path.includes(at)) return undefined;
    path.push(at);
    at = transports[at]?.via;
  }
  return undefined;
}

/** Reads names and `via` from a section that may have other errors. */
function viasOf(value: unknown): Record<string, { via?: string }> {
  const vias: Record<string, { via?: string }> = {};
  if (typeof value !== "object" || value === null) return vias;
  for (const [name, written] of Object.entries(value)) {
    const via: unknown = typeof written === "object" && written !== null && "via" in written
      ? written.via
      : undefined;
    vias[name] = typeof via === "string" && via !== "" ? { via } : {};
  }
  return vias;
}
