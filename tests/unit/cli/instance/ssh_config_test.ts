import assert from "node:assert/strict";
import sshConfig, { sshConfigText } from "../../../../src/cli/instance/ssh_config.ts";
import { startInstance } from "../../../support/memory_instance.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const config = "transports: { corp: { proxy: { url: http://127.0.0.1:9 } } }\n" +
  "listen: { mixed: 127.0.0.1:1 }\n" +
  "routes:\n  - { to: [corp.example, 10.8.0.0/16], via: corp }\n  - { to: '10.9.0.0/16:443', via: corp }\n";

const blocks = `# The hosts that postern routes, from: postern ssh-config
# Include this file at the start of ~/.ssh/config.
# No pattern for rule "10.9.0.0/16:443" (config.yaml:5): it applies only to port 443

# rule "corp.example" (config.yaml:4): transport corp
Host corp.example *.corp.example
  ProxyCommand postern nc %h %p

# rule "10.8.0.0/16" (config.yaml:4): transport corp
Host 10.8.*.*
  ProxyCommand postern nc %h %p
`;

for (const hasInstance of [true, false]) {
  Deno.test(`postern ssh-config prints the same ${hasInstance ? "with" : "without"} an instance`, async () => {
    const world = new MemoryWorld({ files: { "/config/config.yaml": config } });
    let said = "";
    world.terminal.err = (line) => Promise.resolve(void (said += line));
    const instance = hasInstance ? await startInstance(world) : undefined;
    assert.equal(await sshConfig.start([], world, { version: "1", writeLogLine: () => {} }), 0);
    assert.equal(world.out, blocks);
    assert.match(said, /^postern: no ssh pattern for rule "10\.9\.0\.0\/16:443".* only to port 443$/m);
    world.kill("SIGTERM");
    await instance?.ended;
  });
}

Deno.test("postern ssh-config writes the id and the absolute path of a file into each command", async () => {
  const world = new MemoryWorld({ files: { "/here/50% of it.yaml": config } });
  const args = ["--config", "50% of it.yaml"];
  await sshConfig.start(args, world, { version: "1", writeLogLine: () => {} });
  assert.match(world.out, /^ {2}ProxyCommand postern nc --config '\/here\/50%% of it\.yaml' %h %p$/m);
  await assert.rejects(
    sshConfig.start([...args, "--id", "lab"], world, { version: "1", writeLogLine: () => {} }),
    { code: "usage", message: /^Cannot use --id with --config/ },
  );
});

Deno.test("sshConfigText() keeps foreign text inside its comment", () => {
  const text = sshConfigText({
    routed: [{ patterns: ["a"], transport: "t\nProxyCommand evil", because: "b\r\nHost *" }],
    left: [{ rule: "r\nHost *", why: "w" }],
  }, "postern nc");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.deepEqual(lines, ["Host a", "  ProxyCommand postern nc %h %p"]);
});
