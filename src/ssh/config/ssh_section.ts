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
      "`builtin` implements ssh; `openssh` runs the ssh program, for options that `builtin` does not support.",
    ),
    "builtin",
  ),
}, { describe: "a mapping with engine" });

const section = record({
  config: optional(
    described(
      file(),
      "The ssh configuration to read instead of ~/.ssh/config and the system's file, as with ssh -F.",
    ),
  ),
  agent: optional(
    described(
      either(choice("auto", "none"), file()),
      "The ssh agent: `auto` follows the ssh configuration and SSH_AUTH_SOCK, `none` uses no agent; or the path of a socket.",
    ),
    "auto",
  ),
  keepalive: optional(
    described(
      duration({ min: 100 }),
      "How long a server may be silent before postern sends it a keepalive.",
    ),
    3000,
  ),
  deadAfter: optional(
    described(duration({ min: 200 }), "How long a server may be silent before postern closes the session."),
    6000,
  ),
  connectTimeout: optional(
    described(
      duration({ min: 100 }),
      "Timeout for connecting and signing in to one host, unless ConnectTimeout is set.",
    ),
    10_000,
  ),
  hosts: optional(
    described(
      dictionary(host, { key: /^[^\s-]\S{0,254}$/, describe: "the name of a Host of the ssh configuration" }),
      "Settings for single hosts, by the name that postern connects to.",
    ),
    {},
  ),
}, { describe: "a mapping with config, agent, keepalive, deadAfter, connectTimeout, hosts" });

export type SshSection = Infer<typeof section>;

export const sshSection: Schema<SshSection> = section;

/** The settings without such a section. */
export const usualSshSection: SshSection = {
  agent: "auto",
  keepalive: 3000,
  deadAfter: 6000,
  connectTimeout: 10_000,
  hosts: {},
};
