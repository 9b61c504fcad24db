import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

/** The configuration of an instance for one domain, on a port that the test chooses. */
const config = (port: number, domain = "corp.example") => `
listen: { mixed: "127.0.0.1:0", dns: "127.0.0.1:${port}" }
transports: { up: { proxy: { url: "socks5h://127.0.0.1:1" } } }
routes: [{ to: [${domain}], via: up }]
dns: { fakeRange: 10.255.0.0/16 }
`;

const mark = "# Written by postern dns --apply. postern dns --undo takes it away.";
const options = { platforms: ["linux"] } as const;

interface Machine extends AsyncDisposable {
  readonly home: Household;
  /** The directory that replaces the machine's root. */
  readonly root: string;
  run(...args: string[]): ReturnType<Household["run"]>;
  /** Every file and directory below the root, with its text. */
  tree(): Promise<Record<string, string>>;
}

/** A household with separate system files: tests must not write those of the machine. */
async function machine(): Promise<Machine> {
  const home = await Household.open();
  const root = `${home.directory}/root`;
  await Deno.mkdir(`${root}/etc/systemd/resolved.conf.d`, { recursive: true });
  await Deno.writeTextFile(`${root}/etc/systemd/resolved.conf.d/other.conf`, "[Resolve]\nCache=no\n");
  return {
    home,
    root,
    run: (...args) => home.run(args, { env: { POSTERN_ROOT: root } }),
    tree: () => treeOf(root),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

async function treeOf(directory: string, below = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(`${directory}${below}`)) {
    const path = `${below}/${name}`;
    found[path] = isDirectory ? "" : await Deno.readTextFile(`${directory}${path}`);
    if (isDirectory) Object.assign(found, await treeOf(directory, path));
  }
  return found;
}

/** The files that the second tree adds. */
function added(before: Record<string, string>, after: Record<string, string>): Record<string, string> {
  for (const path of Object.keys(before)) assert.equal(after[path], before[path], path);
  return Object.fromEntries(Object.entries(after).filter(([path]) => !(path in before)));
}

/** A port that is free for TCP and, most likely, for UDP. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Checks the file for either version of systemd: they differ in the name and the section only. */
function isApplied(files: Record<string, string>, server: string, domains: readonly string[]): void {
  const texts = Object.entries(files).filter(([, text]) => text !== "");
  assert.equal(texts.length, 1, JSON.stringify(files));
  const [[path = "", text = ""] = []] = texts;
  assert.match(
    path,
    /^\/etc\/systemd\/(?:resolved\.conf\.d\/postern\.conf|dns-delegate\.d\/postern\.dns-delegate)$/,
  );
  const plain = text.replace("# Its directory was made for it.\n", "").replace("[Delegate]", "[Resolve]");
  assert.equal(
    plain,
    `${mark}\n[Resolve]\nDNS=${server}\n${domains.map((domain) => `Domains=~${domain}\n`).join("")}`,
  );
}

const ours = ["corp.example", "255.10.in-addr.arpa"];

peerTest("dns prints, applies and removes its settings without leftovers", [], async (_, t) => {
  await using box = await machine();
  const before = await box.tree();
  const { run } = box;
  await box.home.configure(config(1053));
  await t.step("print changes nothing", async () => {
    const { code, stdout, stderr } = await run("dns", "--print", "systemd-resolved");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^# \/etc\/systemd\/\S+\n# Written by postern/);
    assert.match(stdout, /^DNS=127\.0\.0\.1:1053\nDomains=~corp\.example\nDomains=~255\.10\.in-addr\.arpa$/m);
    const mac = await run("dns", "--print", "macos");
    assert.equal(
      mac.stdout,
      ours.map((domain) => `# /etc/resolver/${domain}\n${mark}\nnameserver 127.0.0.1\nport 1053\n`).join(
        "\n",
      ),
    );
    const windows = await run("dns", "--print", "nrpt");
    assert.deepEqual([windows.code, windows.stdout], [4, ""]);
    assert.match(windows.stderr, /port 1053: Windows queries name servers only on port 53/);
    const rule = await run("dns", "--print", "nrpt", "--server", "127.0.0.1", "--domain", "corp.example");
    assert.match(
      rule.stdout,
      /^Add-DnsClientNrptRule -Namespace "corp\.example","\.corp\.example" -NameServers "127\.0\.0\.1"/,
    );
    assert.deepEqual(await box.tree(), before);
  });
  await t.step("apply writes one file, once", async () => {
    const { code, stderr } = await run("dns", "--apply");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /postern: wrote \/etc\/systemd\//);
    isApplied(added(before, await box.tree()), "127.0.0.1:1053", ours);
    assert.match((await run("dns", "--apply")).stderr, /postern: nothing to change\n/);
  });
  await t.step("apply with other domains replaces the first ones", async () => {
    const named = ["--server", "[::1]:53", "--domain", "B.example.", "--domain", ".a.example"];
    assert.equal((await run("dns", "--apply", ...named)).code, 0);
    isApplied(added(before, await box.tree()), "[::1]:53", ["b.example", "a.example"]);
  });
  await t.step("undo restores the original files", async () => {
    assert.match((await run("dns", "--undo")).stderr, /postern: removed \/etc\/systemd\//);
    assert.deepEqual(await box.tree(), before);
    assert.deepEqual(await run("dns", "--undo"), {
      code: 0,
      stdout: "",
      stderr: "postern: nothing to change\n",
    });
  });
  await t.step("apply and undo do not change a foreign file", async () => {
    const paths = ["resolved.conf.d/postern.conf", "dns-delegate.d/postern.dns-delegate"];
    await Deno.mkdir(`${box.root}/etc/systemd/dns-delegate.d`);
    for (const path of paths) await Deno.writeTextFile(`${box.root}/etc/systemd/${path}`, "# mine\n");
    const mine = await box.tree();
    const { code, stderr } = await run("dns", "--apply");
    assert.equal(code, 1);
    assert.match(stderr, /Cannot write "\/etc\/systemd\/.*: postern did not write the existing file\n/);
    await run("dns", "--undo");
    assert.deepEqual(await box.tree(), mine);
  });
}, options);

peerTest("dns reports mistakes and the command to run", [], async () => {
  await using box = await machine();
  const { run } = box;
  const cases: { readonly args: readonly string[]; readonly code: number; readonly says: RegExp }[] = [
    { args: ["dns"], code: 2, says: /use exactly one of --print, --apply and --undo/ },
    { args: ["dns", "--apply", "--undo"], code: 2, says: /use exactly one of --print, --apply and --undo/ },
    { args: ["dns", "--print", "bind"], code: 2, says: /systemd-resolved/ },
    {
      args: ["dns", "--apply", "--server", "192.0.2.1:53", "--domain", "x"],
      code: 2,
      says: /not a loopback address/,
    },
    { args: ["dns", "--apply", "--server", "127.0.0.1:53", "--domain", "a b"], code: 2, says: /as a domain/ },
    { args: ["dns", "--apply"], code: 4, says: /listen\.dns is not set/ },
  ];
  for (const { args, code, says } of cases) {
    const ended = await run(...args);
    assert.equal(ended.code, code, `${args.join(" ")}: ${ended.stderr}`);
    assert.match(ended.stderr, says);
  }
  // Without permission, the error names the complete command for root; root itself may write everything.
  if (Deno.uid() === 0) return;
  await box.home.configure(config(1053));
  await Deno.chmod(`${box.root}/etc/systemd`, 0o555);
  await Deno.chmod(`${box.root}/etc/systemd/resolved.conf.d`, 0o555);
  const { code, stderr } = await run("dns", "--apply");
  await Deno.chmod(`${box.root}/etc/systemd`, 0o755);
  await Deno.chmod(`${box.root}/etc/systemd/resolved.conf.d`, 0o755);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /hint: run as root: sudo postern dns --apply --server 127\.0\.0\.1:1053 --domain corp/,
  );
}, options);

peerTest(
  "the next instance repairs the files of a killed one, and cleanup removes them",
  [],
  async (_, t) => {
    await using box = await machine();
    const before = await box.tree();
    const { home, run, root } = box;
    const port = freePort();
    const start = async () => {
      const instance = home.start(["proxy"], { env: { POSTERN_ROOT: root } });
      await instance.ready;
      return instance;
    };
    await home.configure(config(port));
    await t.step("cleanup keeps the files of a running instance", async () => {
      const instance = await start();
      assert.equal((await run("dns", "--apply")).code, 0);
      assert.match((await run("cleanup")).stderr, /postern: nothing to change\n/);
      isApplied(added(before, await box.tree()), `127.0.0.1:${port}`, ours);
      instance.kill("SIGKILL");
      await instance.ended;
    });
    await t.step("the next instance writes its new domain", async () => {
      await home.configure(config(port, "other.example"));
      const instance = await start();
      await instance.says(/ dns\.system_repaired .*written=/);
      isApplied(added(before, await box.tree()), `127.0.0.1:${port}`, [
        "other.example",
        "255.10.in-addr.arpa",
      ]);
      instance.kill("SIGKILL");
      await instance.ended;
    });
    await t.step("an instance without DNS removes files with a dead DNS server", async () => {
      await home.configure('default: direct\nlisten: { mixed: "127.0.0.1:0" }\n');
      const instance = await start();
      await instance.says(/ dns\.system_repaired .*removed=\S*\/etc\//);
      assert.deepEqual(await box.tree(), before);
      instance.kill("SIGTERM");
      await instance.ended;
    });
    await t.step("cleanup needs no instance and also removes incomplete files", async () => {
      const named = ["--server", `127.0.0.1:${port}`, "--domain", "corp.example"];
      assert.equal((await run("dns", "--apply", ...named)).code, 0);
      const half = `${root}/etc/systemd/resolved.conf.d/postern.conf.0123abcd.tmp`;
      await Deno.writeTextFile(half, mark.slice(0, 20));
      const { code, stderr } = await run("cleanup");
      assert.equal(code, 0, stderr);
      assert.match(stderr, /postern: removed .*postern\.conf\.0123abcd\.tmp\n/);
      assert.deepEqual(await box.tree(), before);
      assert.deepEqual(await Array.fromAsync(Deno.readDir(home.places.runtime)), []);
    });
  },
  options,
);

peerTest("systemd reads the drop-in", ["systemd_analyze"], async ({ systemd_analyze }) => {
  await using box = await machine();
  const { run, root } = box;
  const named = ["--server", "127.0.0.1:1053", "--domain", "corp.example", "--domain", "svc"];
  assert.equal((await run("dns", "--apply", ...named)).code, 0);
  const [path] = Object.keys(await box.tree()).filter((path) => path.includes("/postern."));
  const kind = path?.includes("delegate") ? "systemd/dns-delegate.d" : "systemd/resolved.conf";
  if (kind !== "systemd/resolved.conf") return;
  await Deno.writeTextFile(`${root}/etc/systemd/resolved.conf`, "[Resolve]\n");
  const { stdout } = await new Deno.Command(systemd_analyze, { args: [`--root=${root}`, "cat-config", kind] })
    .output();
  const text = new TextDecoder().decode(stdout);
  assert.match(
    text,
    /postern\.conf\n.*\n(?:.*\n)?\[Resolve\]\nDNS=127\.0\.0\.1:1053\nDomains=~corp\.example\nDomains=~svc\n/,
  );
}, options);
