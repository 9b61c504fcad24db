import type { UpdatedCatalogue } from "../../fleet/mod.ts";
import { counted } from "../../core/mod.ts";
import { printable } from "../output/printable.ts";

/** How many changes of one kind are listed; `-o json` lists all. */
const mostNamed = 20;
/** How many warnings are listed; `-o json` lists more. */
const mostWarnings = 50;

export function changeLines(
  { name, source, clusters, isNew, changes, routes }: UpdatedCatalogue,
  { isDryRun }: { readonly isDryRun: boolean },
): string[] {
  const excluded = routes.filter(({ kind }) => kind === "exclusion").length;
  const size = `${counted(clusters, "cluster")}, ${counted(routes.length - excluded, "route")}, ` +
    counted(excluded, "exclusion");
  const { added, removed, moved } = changes.routes;
  const lines = isNew ? [] : [
    ...some(changes.clusters.added, (id) => `cluster ${id} is new`, "more clusters are new"),
    ...some(changes.clusters.removed, (id) => `cluster ${id} was removed`, "more clusters were removed"),
    ...some(
      added,
      ({ kind, pattern, jumphost }) =>
        `${pattern} ${kind === "route" ? `goes through ${jumphost}` : "goes direct"}`,
      "more routes are new",
    ),
    ...some(
      moved,
      ({ pattern, jumphost, was }) => `${pattern} goes through ${jumphost} (was ${was})`,
      "more routes have moved",
    ),
    ...some(
      removed,
      ({ kind, pattern }) => `${pattern} is no longer ${kind === "route" ? "routed" : "excluded"}`,
      "more routes were removed",
    ),
  ];
  const same = !isNew && lines.length === 0 ? ", no changes" : "";
  const would = isDryRun ? ", not stored" : "";
  return [`catalogue ${name}: ${size}${same}${would} (${source})`, ...lines.map((line) => `  ${line}`)]
    .map(printable);
}

/** The warnings and notes of an update, one per line. */
export function warningLines({ name, warnings, ignored, notes }: UpdatedCatalogue): string[] {
  const skipped = ignored.length === 0 ? [] : [
    `catalogue ${name}: ${counted(ignored.length, "cluster")} ignored because of kharonIgnore: ${
      some(ignored, (id) => id, "others").join(", ")
    }`,
  ];
  const shown = warnings.slice(0, mostWarnings).map(({ cluster, fact, message }) =>
    `warning: catalogue ${name}: cluster ${cluster}: ${fact === undefined ? "" : `fact ${fact}: `}${message}`
  );
  const left = warnings.length - shown.length;
  const more = left > 0 ? [`catalogue ${name}: ${left} more warnings: see postern update -o json`] : [];
  return [...notes, ...skipped, ...shown, ...more].map(printable);
}

function some<T>(all: readonly T[], line: (one: T) => string, more: string): string[] {
  const named = all.length > mostNamed ? all.slice(0, mostNamed) : all;
  const left = all.length - named.length;
  return [...named.map(line), ...(left > 0 ? [`${left} ${more}`] : [])];
}
