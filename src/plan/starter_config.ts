import { jsonSchema } from "../config/mod.ts";
import { settingsSchema } from "./settings.ts";

export async function configSchema(): Promise<unknown> {
  return jsonSchema(await settingsSchema(), {
    title: "The configuration of postern",
    id: "https://postern.example/postern.schema.json",
  });
}

/** The file that `config init` writes; it is valid without changes. */
export const starterConfig = `# yaml-language-server: $schema=./postern.schema.json
# The configuration of postern. Save the file and postern applies it.
# Check it: postern config check. Show the route of a target: postern explain HOST:PORT.

listen:
  # SOCKS4, SOCKS5, HTTP proxy, PAC file and pages, all on this port.
  mixed: localhost:12000

# Transports, by name. "direct" and "reject" are built in.
transports: {}
#   bastion: { ssh: jump1.example.net }     # a Host of your ssh configuration; test it: postern test
#   corp: { proxy: { url: "http://proxy.corp.example:3128", user: me, passwordFile: ~/.config/postern/corp } }
#   inner: { proxy: { url: "socks5h://10.0.0.1:1080" }, via: corp }
#   blocked: { reject: not from this machine }

# The most specific pattern wins: =exact.example, example.com (with subdomains), .example.com (only subdomains),
# 10.0.0.0/8, "db.example.net:5432", any.
routes: []
#   - { to: [intranet.example, 10.0.0.0/8], via: corp }
#   - { to: [db.example.net, 10.20.0.0/16], via: bastion }

# Exclusions: targets that always go direct, regardless of routes.
direct: []
#   - public.intranet.example

# The transport for all other targets.
default: direct

# Clusters and their jump hosts, from a Lieutenant API: postern update fetches them.
# catalogues:
#   - lieutenant: https://api.syn.example.com

# How postern connects to ssh hosts, in addition to ~/.ssh/config.
# ssh:
#   hosts: { odd.example.net: { engine: openssh } }   # uses the ssh program for this host
`;
