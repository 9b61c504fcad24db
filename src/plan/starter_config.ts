import { jsonSchema } from "../config/mod.ts";
import { settingsSchema } from "./settings.ts";

/** The JSON Schema of the configuration. */
export async function configSchema(): Promise<unknown> {
  return jsonSchema(await settingsSchema(), {
    title: "The configuration of postern",
    id: "https://postern.example/postern.schema.json",
  });
}

/** What `config init` writes. Everything in it is true as it stands. */
export const starterConfig = `# yaml-language-server: $schema=./postern.schema.json
# The configuration of postern. Changes are in force as soon as the file is saved.
# Look for mistakes: postern config check. Ask where something goes: postern explain HOST:PORT.

listen:
  # SOCKS4, SOCKS5, HTTP proxy, PAC file and pages, all on this port.
  mixed: localhost:12000

# Ways out, by name. "direct" and "reject" are always there.
transports: {}
#   bastion: { ssh: jump1.example.net }     # a Host of your ssh configuration; try it with: postern test
#   corp: { proxy: { url: "http://proxy.corp.example:3128", user: me, passwordFile: ~/.config/postern/corp } }
#   inner: { proxy: { url: "socks5h://10.0.0.1:1080" }, via: corp }
#   blocked: { reject: not from this machine }

# The most specific pattern decides: =exact.example, example.com (and all below), .example.com (only below),
# 10.0.0.0/8, "db.example.net:5432", any.
routes: []
#   - { to: [intranet.example, 10.0.0.0/8], via: corp }
#   - { to: [db.example.net, 10.20.0.0/16], via: bastion }

# Exclusions: these go direct whatever the routes say.
direct: []
#   - public.intranet.example

# Where everything else goes.
default: direct

# Clusters and the ways to them, from a Lieutenant API: postern update fetches them.
# catalogues:
#   - lieutenant: https://api.syn.example.com

# How ssh hosts are reached, beside what ~/.ssh/config says.
# ssh:
#   hosts: { odd.example.net: { engine: openssh } }   # this one by the ssh program
`;
