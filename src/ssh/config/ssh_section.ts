import {
  choice,
  described,
  dictionary,
  duration,
  either,
  file,
  type Infer,
  optional,
  record,
  type Schema,
} from "../../config/mod.ts";

const host = record({
  engine: optional(
    described(
      choice("builtin", "openssh"),
      "`builtin` speaks ssh itself; `openssh` runs the ssh program, for what the built-in one cannot honour.",
    ),
    "builtin",
  ),
}, { describe: "a mapping with engine" });

const section = record({
  config: optional(
    described(
      file(),
      "The ssh configuration to read instead of ~/.ssh/config and the system's, as ssh -F does.",
    ),
  ),
  agent: optional(
    described(
      either(choice("auto", "none"), file()),
      "Which agent holds the keys: what the ssh configuration and SSH_AUTH_SOCK say, none, or this socket.",
    ),
    "auto",
  ),
  keepalive: optional(
    described(
      duration({ min: 100 }),
      "How long a server may be silent before it is asked whether it is there.",
    ),
    3000,
  ),
  deadAfter: optional(
    described(duration({ min: 200 }), "How long a server may be silent until it counts as gone."),
    6000,
  ),
  connectTimeout: optional(
    described(
      duration({ min: 100 }),
      "How long connecting and signing in to one host may take, where ConnectTimeout says nothing.",
    ),
    10_000,
  ),
  hosts: optional(
    described(
      dictionary(host, { key: /^[^\s-]\S{0,254}$/, describe: "the name of a Host of the ssh configuration" }),
      "What is different for single hosts, by the name they are asked for.",
    ),
    {},
  ),
}, { describe: "a mapping with config, agent, keepalive, deadAfter, connectTimeout, hosts" });

/** The section `ssh`. */
export type SshSection = Infer<typeof section>;

/** The schema of the section `ssh`. */
export const sshSection: Schema<SshSection> = section;

/** What holds where the configuration has no such section. */
export const usualSshSection: SshSection = {
  agent: "auto",
  keepalive: 3000,
  deadAfter: 6000,
  connectTimeout: 10_000,
  hosts: {},
};
