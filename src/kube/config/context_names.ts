/**
 * A context as labels of a host name: `kind-dev` stays as it is; in `arn:aws:eks:eu:1:cluster/web` and `a@b`,
 * dashes replace characters that a label cannot contain.
 */
export function contextLabels(context: string): string {
  return context.toLowerCase().split(".").map((label) =>
    label.replace(/[^a-z0-9-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 63)
  ).filter((label) => label !== "").join(".");
}

/** A host below a context's labels: `web.shop.lab.k8s.internal` is `web.shop` of `lab`. */
export interface ContextName {
  readonly context: string;
  readonly name: string;
}

/**
 * The context that `NAME.CONTEXT` refers to; the longest context wins. Undefined if none matches or two
 * contexts have the same labels.
 */
export function findContext(name: string, contexts: readonly string[]): ContextName | undefined {
  const lower = name.toLowerCase();
  let best: (ContextName & { readonly length: number }) | undefined;
  let isTwice = false;
  for (const context of contexts) {
    const labels = contextLabels(context);
    if (labels === "" || !lower.endsWith(`.${labels}`)) continue;
    if (best && best.length > labels.length) continue;
    isTwice = best?.length === labels.length;
    best = { context, name: name.slice(0, -labels.length - 1), length: labels.length };
  }
  return best && !isTwice ? { context: best.context, name: best.name } : undefined;
}
