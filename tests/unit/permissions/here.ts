import type { SourceFacts } from "../../../src/permissions/source_facts.ts";

const directories = {
  config: "/c/postern",
  state: "/s/postern",
  cache: "/k/postern",
  runtime: "/r/postern",
  home: "/home/me",
};

/** The facts of a test machine. */
export const here: SourceFacts = { directories, self: "/bin/deno", platform: "linux" };

/** The resolver files that an instance repairs after another one was killed. */
export const ofResolver = "/etc/systemd/resolved.conf.d,/etc/systemd/dns-delegate.d,/etc/resolver";
