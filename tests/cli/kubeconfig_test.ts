import assert from "node:assert/strict";
import { labCluster, labClusters, storeClusters } from "../support/lab_clusters.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

Deno.test("postern kubeconfig names the running instance and reports omitted clusters", async () => {
  await using home = await Household.open();
  await storeClusters(home);
  await using instance = await home.instance();
  const address = await instance.address();
  const { code, stdout, stderr } = await home.run(["kubeconfig"]);
  assert.equal(code, 0, stderr);
  assert.deepEqual([...stdout.matchAll(/^ {2}- name: "(.*)"$/gm)].map(([, name]) => name), [
    ...["c-lab-1", "c-lab-2", "c-talos"],
    ...["c-lab-1", "c-lab-2", "c-talos"],
    ...["c-lab-1", "c-lab-2", "c-talos"],
  ]);
  assert.equal(stdout.match(/proxy-url: ".*"/)?.[0], `proxy-url: "socks5://${address}"`);
  assert.match(stdout, /^current-context: "c-lab-2"$/m);
  assert.match(stderr, /note: c-empty is omitted: /);
  assert.match(stdout, /exec-credential"\n +- "--server=https:\/\/api\.c-lab-1\.example\.net:6443"/);
  assert.equal((await home.run(["kubeconfig"])).stdout, stdout);
});

Deno.test("postern clusters NAME kubeconfig without an instance answers from the configuration", async () => {
  await using home = await Household.open();
  await storeClusters(home);
  await home.configure("listen: { http: 127.0.0.1:3129 }\n");
  const { code, stdout, stderr } = await home.run(["clusters", "tal", "kubeconfig"]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /instance "default" is not running: answered from the configuration/);
  assert.match(stdout, /proxy-url: "http:\/\/127\.0\.0\.1:3129"/);
});

Deno.test("postern kubeconfig writes, merges and creates temporary files that only the user can read", async (t) => {
  await using home = await Household.open();
  await storeClusters(home);
  await home.configure("listen: { mixed: 127.0.0.1:3130 }\n");
  const path = `${home.directory}/k.yaml`;
  const run = async (...args: string[]) => {
    const ended = await home.run(args);
    assert.equal(ended.code, 0, ended.stderr);
    return ended;
  };
  const mode = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
  await t.step("--file", async () => {
    const { stdout, stderr } = await run("kubeconfig", "--file", path);
    assert.equal(stdout, "");
    assert.match(stderr, /postern: 3 clusters written to .*k\.yaml\n$/);
    assert.equal(await mode(path), 0o600);
    await run("kubeconfig", "--file", path);
  });
  await t.step("--merge, into the default file", async () => {
    await run("clusters", "lab-1", "kubeconfig", "--merge");
    await run("clusters", "talos", "kubeconfig", "--merge");
    const usual = `${home.directory}/.kube/config`;
    const text = await Deno.readTextFile(usual);
    assert.match(text, /c-lab-1[^]*c-talos/);
    assert.match(text, /current-context: "?c-lab-1/);
    assert.equal(await mode(usual), 0o600);
  });
  await t.step("--temp", async () => {
    const { stdout } = await run("clusters", "talos", "kubeconfig", "--temp");
    assert.equal(await mode(stdout.trim()), 0o600);
    assert.match(await Deno.readTextFile(stdout.trim()), /c-talos/);
  });
});

peerTest("postern kubeconfig --file does not follow a link", ["sh"], async ({ sh }) => {
  await using home = await Household.open();
  await storeClusters(home);
  const [secret, link] = [`${home.directory}/other`, `${home.directory}/link.yaml`];
  await Deno.writeTextFile(secret, "something else\n");
  const made = await new Deno.Command(sh, { args: ["-c", 'ln -s "$1" "$2"', "sh", secret, link] }).output();
  assert.equal(made.code, 0);
  const refused = await home.run(["kubeconfig", "--file", link]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /postern did not write it\npostern: hint: add --force/);
  const forced = await home.run(["kubeconfig", "--file", link, "--force"]);
  assert.equal(forced.code, 0, forced.stderr);
  assert.equal(await Deno.readTextFile(secret), "something else\n");
  assert.ok((await Deno.lstat(link)).isFile);
});

Deno.test("postern kubeconfig writes credentials to files, and to stdout with --with-credentials", async () => {
  await using home = await Household.open();
  await storeClusters(home, [labCluster("c-a", "A", { login: { token: "t0ken" } })]);
  await Deno.writeTextFile(`${home.directory}/password`, "s3cret\n");
  await home.configure(
    "catalogues: [{ lieutenant: https://api.syn.example.net, authInfoFact: login }]\n" +
      `listen: { mixed: 127.0.0.1:3131, auth: { users: [{ name: me, passwordFile: ${home.directory}/password }] } }\n`,
  );
  const refused = await home.run(["kubeconfig"]);
  assert.deepEqual([refused.code, refused.stdout], [5, ""]);
  assert.match(refused.stderr, /hint: add --with-credentials/);
  const given = await home.run(["kubeconfig", "--with-credentials"]);
  assert.match(given.stdout, /socks5:\/\/me:s3cret@127\.0\.0\.1:3131/);
  assert.match(given.stdout, /token: "t0ken"/);
  const path = `${home.directory}/k.yaml`;
  const written = await home.run(["kubeconfig", "--file", path]);
  assert.equal(written.code, 0, written.stderr);
  assert.equal(await Deno.readTextFile(path), given.stdout);
});

peerTest("kubectl reads what postern kubeconfig prints", ["kubectl"], async ({ kubectl }) => {
  await using home = await Household.open();
  await storeClusters(home, [
    ...labClusters,
    labCluster("c-odd", "Odd", { login: { username: "no", password: "1e3" } }),
  ]);
  await home.configure(
    "catalogues: [{ lieutenant: https://api.syn.example.net, authInfoFact: login }]\nlisten: { mixed: 127.0.0.1:3132 }\n",
  );
  const path = `${home.directory}/k.yaml`;
  assert.equal((await home.run(["kubeconfig", "c-*", "--file", path])).code, 0);
  const { code, stdout, stderr } = await new Deno.Command(kubectl, {
    args: ["config", "view", "--raw", "-o", "json"],
    env: { KUBECONFIG: path, HOME: home.directory },
    clearEnv: true,
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const config = JSON.parse(new TextDecoder().decode(stdout));
  const names = ["c-lab-1", "c-lab-2", "c-odd", "c-talos"];
  assert.deepEqual(config.clusters.map(({ name }: { name: string }) => name), names);
  assert.deepEqual(config.contexts.map(({ name }: { name: string }) => name), names);
  assert.deepEqual(config.users.map(({ name }: { name: string }) => name), names);
  assert.deepEqual(config.users[0].user.exec.provideClusterInfo, true);
  assert.deepEqual(config.users[2].user, { username: "no", password: "1e3" });
  assert.equal(config.users[3].user.exec.command, "kubelogin");
  assert.equal(config.clusters[0].cluster["proxy-url"], "socks5://127.0.0.1:3132");
  assert.equal(config["current-context"], "c-lab-2");
});
