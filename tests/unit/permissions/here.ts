import type { SourceFacts } from "../../../src/permissions/source_facts.ts";

const directories = {
  config: "/c/postern",
  state: "/s/postern",
  cache: "/k/postern",
  runtime: "/r/postern",
  home: "/home/me",
};

/** A machine. */
export const here: SourceFacts = { directories, self: "/bin/deno", platform: "linux" };

/** What a door puts right that was killed while the system was told to ask it. */
export const ofResolver = "/etc/systemd/resolved.conf.d,/etc/systemd/dns-delegate.d,/etc/resolver";
