import { parsePattern, type Rule } from "../../../src/routing/mod.ts";
import { surveySsh } from "../../../src/ssh/mod.ts";
import type { Existing, Proposal } from "../../../src/setup/proposal.ts";
import { propose } from "../../../src/setup/propose.ts";
import { withProposal } from "../../../src/setup/insert_proposal.ts";
import type { FoundContext } from "../../../src/setup/propose_clusters.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

/** Everything that a test may find or have; the rest is empty. */
export interface Fixture {
  /** The lines of the ssh configuration, or its files by path. */
  readonly ssh?: string | Readonly<Record<string, string>>;
  readonly contexts?: readonly (Partial<FoundContext> & { readonly name: string; readonly url: string })[];
  readonly proxies?: Readonly<Record<string, string>>;
  readonly catalogues?: readonly string[];
  readonly existing?: Partial<Existing>;
}

export interface Proposed {
  readonly proposal: Proposal;
  readonly notes: readonly string[];
  /** The added lines without comments. */
  readonly lines: readonly string[];
  readonly text: string;
}

/** Returns the proposal for a fixture, and its lines without the heading. */
export async function proposed(
  { ssh = "", contexts = [], proxies = {}, catalogues = [], existing = {} }: Fixture,
): Promise<Proposed> {
  const files = typeof ssh === "string" ? { "/home/me/.ssh/config": ssh } : ssh;
  const world = new MemoryWorld({ files });
  const proposal = propose({
    ssh: await surveySsh(world, { signal: new AbortController().signal }),
    contexts: contexts.map(({ url, ...more }) => ({
      files: [],
      place: "~/.kube/config:1",
      isCurrent: false,
      server: new URL(url),
      ...more,
    })),
    proxies,
    catalogues: catalogues.map((url) => ({ url: new URL(url), place: "LIEUTENANT_URL", oidc: {} })),
    notes: [],
  }, {
    existing: {
      transports: {},
      rules: [],
      catalogues: [],
      unnamed: [],
      hasDefault: false,
      hasListen: false,
      servers: new Map(),
      ...existing,
    },
    isOwn: ({ port }) => port === "12000",
    directory: "/config",
    shown: (text) => text.replaceAll("/home/me/", "~/"),
  });
  const lines = withProposal("a: 1\n", proposal).split("\n").slice(2);
  return {
    proposal,
    notes: proposal.notes,
    lines: lines.filter((line) => line !== "" && !/^\s*# /.test(line)),
    text: lines.join("\n"),
  };
}

export function rule(text: string, transport: string, tier: Rule["tier"] = "routes"): Rule {
  const parsed = parsePattern(text);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return { text, pattern: parsed.pattern, transport, source: "test", tier };
}
