import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { configError, formatProblems, isError, masked, parseDocument } from "../../../src/config/mod.ts";
import { pacFile, parseRouteLines, Router } from "../../../src/routing/mod.ts";
import { matchesKnownHost } from "../../../src/ssh/host_keys/known_host_names.ts";
import { parseKnownHosts } from "../../../src/ssh/host_keys/known_hosts.ts";
import { parsePublicKey } from "../../../src/ssh/keys/ssh_keys.ts";
import { parseSshConfig } from "../../../src/ssh/config/language/ssh_config_lines.ts";
import { SshConfigWorld } from "../../support/ssh_config_world.ts";
import { everything, worldContext } from "../../unit/config/schema_cases.ts";
import { type Bytes, type FuzzTarget, refusedOr, textOf } from "../fuzz_target.ts";

/** Readers of configuration files. */
export const textTargets: readonly FuzzTarget[] = [
  {
    name: "yaml",
    words: [
      ...["a: ", "- ", "\n", "\n  ", "{", "}", "[", "]", "&a ", "*a", "<<: ", "!!map ", "---\n", "...\n"],
      ...["%YAML 1.1\n", '"', "'", "|\n", ">\n", "# ", "? ", ": ", "\\u0000", "transports: ", "listen: "],
      ...["0x1f", ".nan", "~", "10s"],
    ],
    laws: configLaws,
  },
  {
    name: "ssh_config",
    words: [
      ...["Host ", "Match ", "all\n", "exec ", "final ", "host ", "!", "*", "?", "\n", "  ", '"', "'", "\\"],
      ...["#", "=", ",", "Include ", "config\n", "HostName ", "%h", "%%", "%C", "${HOME}", "~/", "Port 22\n"],
      ...["User me\n", "ProxyJump a,b\n", "ProxyCommand ssh -W %h:%p gate\n", "IdentityFile ", "none\n"],
      ...["IgnoreUnknown *\n", "Ciphers +aes*\n", "yes\n"],
    ],
    laws: async (input) => {
      const text = textOf(input);
      const lines = text.split("\n").length;
      let last = 0;
      for (const { line, keyword, fault } of parseSshConfig(text)) {
        assert.ok(line > last && line <= lines && (keyword !== "" || fault !== undefined));
        last = line;
      }
      const host = await new SshConfigWorld(text).read();
      for (const { line, message } of host.problems) {
        assert.ok(line >= 0 && line <= lines && message !== "");
      }
    },
  },
  {
    name: "known_hosts",
    words: [
      ...["|1|", "=|", "= ", "@revoked ", "@cert-authority ", "ssh-ed25519 ", "ssh-rsa ", "\n", "[a.b]:2222"],
      ...["ecdsa-sha2-nistp256 ", "*.example", "!x,", "AAAAC3NzaC1lZDI1NTE5AAAAI", "AAAA", "==", " # ", "\t"],
      ...["\r\n", "jump.example"],
    ],
    laws: (input) => {
      const { entries, problems } = parseKnownHosts(input);
      const seen = [...entries, ...problems].map(({ line }) => line);
      assert.equal(new Set(seen).size, seen.length);
      for (const { message } of problems) assert.notEqual(message, "");
      for (const { names, type, base64 } of entries) {
        matchesKnownHost(names, "jump.example", hmacSha1);
        refusedOr(() => parsePublicKey(type, base64));
      }
      const behind = parseKnownHosts(Uint8Array.of(...input, 10, ...lastLine));
      assert.equal(behind.entries.length, entries.length + 1);
    },
  },
  {
    name: "pac",
    words: [
      ...["example.com", ".svc", "=a.b", "*", "any", "<local>", "10.0.0.0/8", "192.0.2.1", "[::1]", ":443"],
      ...[
        "[2001:db8::/32]:443",
        " direct\n",
        " corp\n",
        " lab\n",
        ":80",
        ".",
        "#",
        "constructor",
        "__proto__",
      ],
      ...["</script>", "\\", '"', "'", "xn--bcher-kva", "\xc3\xa9", "a", "b.c", " ", "\n"],
    ],
    laws: pacLaws,
  },
];

async function configLaws(input: Bytes): Promise<void> {
  const text = textOf(input);
  const document = await parseDocument(text, { name: "f" });
  const lines = text.split("\n").length;
  for (const { position, message } of document.problems) {
    assert.notEqual(message, "");
    if (position) assert.ok(position.line >= 1 && position.line <= lines && position.column >= 1);
  }
  if (document.value === undefined) return assert.ok(document.problems.length > 0);
  const context = worldContext();
  const value = everything.parse(document.value, context);
  assert.equal(value === undefined, context.problems.some(isError));
  assert.equal(configError(document.name, formatProblems(context.problems, document)).code, "config");
  masked(document.value, everything);
}

/** Checks that the file is a script that agrees with the router for every host in the rules. */
function pacLaws(input: Bytes): void {
  const text = textOf(input);
  const { rules } = parseRouteLines(text, { name: "list" });
  const router = new Router({ rules, fallback: "direct" });
  const script = pacFile(router, { listener: "127.0.0.1:12000" });
  const find = new Function(`${script}\nreturn FindProxyForURL;`)() as (url: string, host: string) => unknown;
  const hosts = [...text.matchAll(/[a-z0-9.-]{1,60}/gi)].slice(0, 6).map(([word]) => word.toLowerCase());
  for (const host of [...hosts, "elsewhere.example"]) {
    const url = URL.parse(`https://${host}/`);
    // A browser has only hosts of URLs, and handles loopback itself.
    if (!url || url.hostname !== host || /^127\.|^0\.0\.0\.0$|localhost\.?$/.test(host)) continue;
    const { transport } = router.route({ host, port: 443 });
    const expected = transport === "direct" ? "DIRECT" : "SOCKS5 127.0.0.1:12000";
    assert.equal(find(`https://${host}/`, host), expected, host);
  }
}

const hmacSha1 = (key: Bytes, message: Bytes) => createHmac("sha1", key).update(message).digest();
const lastLine = new TextEncoder().encode(
  "last ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n",
);
