import { parse } from "yaml";

export interface KubeRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The rules of the Role in the guide. */
export function guideRules(): readonly KubeRule[] {
  const page = Deno.readTextFileSync(new URL("../../docs/guide/kubernetes.md", import.meta.url));
  for (const [, text = ""] of page.matchAll(/^```yaml[^\n]*\n(.*?)\n```$/gms)) {
    const value: unknown = parse(text);
    if (
      typeof value === "object" && value !== null && "kind" in value && value.kind === "Role" &&
      "rules" in value
    ) {
      return value.rules as readonly KubeRule[];
    }
  }
  throw new Error("the guide has no Role");
}
