import assert from "node:assert/strict";
import { doctor, type Finding } from "../../../src/doctor/mod.ts";
import { checkConfig, explainFromFiles } from "../../../src/instance/mod.ts";
import { keyText } from "../../support/ssh_public_keys.ts";
import { MemoryWorld, type MemoryWorldOptions } from "../../support/memory_world.ts";

const { signal } = new AbortController();
const path = "/config/config.yaml";
const ssh = "/home/me/.ssh/config";
const text =
  "listen: { mixed: 127.0.0.1:1 }\ntransports:\n  far: { ssh: far }\n  odd: { ssh: odd }\ndefault: far\n";
const lines = [
  "Host far",
  "  ProxyJump near",
  "Host near",
  "  HostName near.example",
  "  StrictHostKeyChecking no",
  "Host odd",
  "  KnownHostsCommand /bin/keys",
  "  RevokedHostKeys /revoked",
  "",
].join("\n");
const plainKey = `-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n`;
const lockedKey = plainKey.replace("\nAAAA", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA");

function world({ files, ...more }: MemoryWorldOptions = {}): MemoryWorld {
  return new MemoryWorld({ files: { [path]: text, [ssh]: lines, ...files }, ...more });
}

async function findings(place: MemoryWorld): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of doctor(place, { id: "default", version: "1.2.3" }, { signal })) {
    found.push(finding);
  }
  return found;
}

Deno.test("checkConfig() warns about unsupported ssh options and lists unusable transports", async () => {
  const { errors, warnings, transports } = await checkConfig(world(), {});
  assert.deepEqual(errors, []);
  const start = (line: string) => line.replace(/: (it changes|"no" is).*$/, "");
  assert.deepEqual(warnings.map(start), [
    `${path}:3:8: warning: transports.far: ${ssh}:5: StrictHostKeyChecking of ssh near`,
    `${path}:4:8: warning: transports.odd cannot be used: ${ssh}:7: KnownHostsCommand of ssh odd`,
    `${path}:4:8: warning: transports.odd cannot be used: ${ssh}:8: RevokedHostKeys of ssh odd`,
  ]);
  assert.match(warnings[1] ?? "", /engine: openssh" for this host$/);
  assert.deepEqual(transports.map(({ name, isUsable }) => [name, isUsable]), [["far", true], ["odd", false]]);
});

Deno.test("checkConfig() does not warn about a host that uses the ssh program", async () => {
  const place = world();
  place.files.put(path, `${text}ssh: { hosts: { odd: { engine: openssh } } }\n`);
  const { warnings, transports } = await checkConfig(place, {});
  assert.ok(transports.every(({ isUsable }) => isUsable), JSON.stringify(transports));
  assert.ok(!warnings.some((line) => line.includes("KnownHostsCommand")), warnings.join("\n"));
});

Deno.test("explainFromFiles() lists the hops of a chain, and why another chain is unusable", async () => {
  const ask = (host: string) =>
    explainFromFiles(world({ files: { [path]: `${text}routes: [{ to: odd.example, via: odd }]\n` } }), {}, {
      target: { host, port: 80 },
      dial: false,
      signal,
    });
  assert.deepEqual((await ask("db.example")).hops, [{
    name: "far",
    type: "ssh",
    detail: "near at near.example:22 > far",
    hosts: [{ host: "near", address: "near.example:22" }, { host: "far", address: "far:22" }],
  }]);
  const [odd] = (await ask("odd.example")).hops;
  assert.match(odd?.problem ?? "", /Cannot use ssh odd: \S+\.ssh\/config:7: KnownHostsCommand/);
  assert.equal(odd?.hint, "use engine: openssh for this host");
});

Deno.test("doctor() checks everything that an ssh chain needs", async () => {
  const place = world({
    files: {
      "/home/me/.ssh/known_hosts": `near.example ${keyText("ed25519", 1)}\nbroken line\n`,
      "/home/me/.ssh/id_ed25519": lockedKey,
    },
    env: { SSH_AUTH_SOCK: "/run/agent" },
  });
  place.files.put("/home/me/.ssh/id_rsa", plainKey, 0o644);
  const found = (await findings(place)).filter(({ name }) => /^(transport|ssh|key|known)/.test(name));
  const brief = found.map(({ name, state, hint }) => `${state} ${name}${hint ? `: ${hint}` : ""}`);
  assert.deepEqual(brief, [
    'warning transport "far"',
    'ok transport "far"',
    'failed transport "odd"',
    'failed transport "odd"',
    "warning ssh agent: start it again, or name another one: IdentityAgent, SSH_AUTH_SOCK",
    "failed key /home/me/.ssh/id_rsa: chmod 600 /home/me/.ssh/id_rsa",
    "ok key /home/me/.ssh/id_ed25519",
    "warning known hosts",
    "warning ssh host near: ssh-add /home/me/.ssh/id_ed25519",
    "failed ssh host far: connect once and compare its key: ssh far",
    "warning ssh host far: ssh-add /home/me/.ssh/id_ed25519",
  ]);
});

Deno.test("doctor() checks the ssh program when a host needs it", async () => {
  const place = world();
  place.files.put(
    path,
    "listen: { mixed: 127.0.0.1:1 }\ntransports: { odd: { ssh: odd } }\nssh: { hosts: { odd: { engine: openssh } } }\n",
  );
  const found = (await findings(place)).find(({ name }) => name === "ssh program");
  assert.equal(found?.state, "failed");
  assert.deepEqual((await findings(place)).filter(({ name }) => name === "ssh agent"), []);
});
