import assert from "node:assert/strict";
import fc from "fast-check";
import { isPosternError } from "../../src/words/mod.ts";
import { parseSshConfig } from "../../src/ssh/config/language/ssh_config_lines.ts";
import { matchesSshPattern } from "../../src/ssh/config/language/ssh_config_pattern.ts";
import { parseSshHops } from "../../src/ssh/config/language/ssh_config_hop.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import { SshConfigWorld } from "../support/ssh_config_world.ts";

const path = "/home/me/.ssh/config";

const pieces = [
  ..." \t\r\n\n\n\n=\"'\\#%*?!,~${}[]:@/-\0\f",
  ..."Host host|Match |all|host |exec |final |user |!|canonical |originalhost |tagged |a".split("|"),
  ..."Include |config|Include config|HostName |%h|%n|%%|%C|${HOME}|~/|Port |22|ssh|User ".split("|"),
  ..."ProxyJump |ProxyCommand |ssh -W %h:%p gate|IdentityFile |IdentityAgent |IgnoreUnknown *".split("|"),
  ..."Ciphers |+aes*|-|^|KnownHostsCommand |Hostnam |none|yes|\ud800|\uFEFF|ü|ConnectTimeout 1m".split("|"),
];
const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join(""));

Deno.test("parseSshConfig() returns lines with keywords in order, or a fault", () => {
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ unit: "binary", maxLength: 200 })), (text) => {
      const count = text.split("\n").length;
      let last = 0;
      for (const { line, keyword, fault } of parseSshConfig(text)) {
        assert.ok(line > last && line <= count);
        assert.ok(keyword !== "" || fault !== undefined);
        last = line;
      }
    }),
    { numRuns: fuzzRuns(5000) },
  );
});

Deno.test("SshConfigReader returns a host or problems for any text, and the same for a second read", async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const world = new SshConfigWorld(text);
      const host = await world.read();
      const count = text.split("\n").length;
      for (const { file, line, message } of host.problems) {
        // An included directory has a separate note.
        assert.ok(file === path || (file.startsWith("/") && /include/i.test(text)), file);
        assert.ok(line >= 0 && line <= count && message !== "");
      }
      assert.ok(host.port >= 1 && host.port <= 65535 && host.user !== "" && host.hostName !== "");
      assert.deepEqual(await world.read(), host);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

Deno.test("SshConfigReader refuses exactly the invalid names", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", maxLength: 12 }), async (alias) => {
      const world = new SshConfigWorld('Match exec "%n %h %C"\n  ProxyCommand x %n\n');
      try {
        const host = await world.read(alias);
        assert.doesNotMatch(host.proxyCommand ?? "", /[;|&`$<>()'"\s\\].*[;|&`$<>()'"\\]/);
      } catch (error) {
        assert.ok(isPosternError(error, "config"));
        assert.deepEqual(world.commands, []);
      }
    }),
    { numRuns: fuzzRuns(1000) },
  );
});

Deno.test("matchesSshPattern() agrees with the pattern as a regular expression", () => {
  const letters = (extra: string) => fc.array(fc.constantFrom(..."ab", ...extra), { maxLength: 8 });
  fc.assert(
    fc.property(letters("."), letters("*?."), (text, pattern) => {
      const source = pattern.map((char) => char === "*" ? ".*" : char === "?" ? "." : `[${char}]`).join("");
      const expected = new RegExp(`^${source}$`, "s").test(text.join(""));
      assert.equal(matchesSshPattern(text.join(""), pattern.join("")), expected);
    }),
    { numRuns: fuzzRuns(5000) },
  );
});

Deno.test("parseSshHops() returns at most one hop to the target for any command", () => {
  const words = [
    "ssh",
    "-W",
    "real:22",
    "gate",
    "-q",
    "-p",
    "-J",
    "a,b",
    "-o",
    "--",
    "exec",
    "'",
    '"',
    ";",
    "-l",
    "x",
  ];
  const commands = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join(" "));
  fc.assert(
    fc.property(commands, (command) => {
      const hops = parseSshHops(command, { host: "real", port: 22, config: "/c" });
      if (!hops) return;
      assert.match(command, /^(exec )?ssh .*-W real:22/);
      assert.doesNotMatch(command, /;/);
      assert.ok(hops.every(({ host }) => host !== "" && !host.startsWith("-")));
    }),
    { numRuns: fuzzRuns(5000) },
  );
});
