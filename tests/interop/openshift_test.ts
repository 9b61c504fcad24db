import assert from "node:assert/strict";
import { storeClusters } from "../support/lab_clusters.ts";
import { Lieutenant } from "../support/lieutenant.ts";
import { OpenShiftApi } from "../support/openshift_api.ts";
import { peerTest } from "../support/peers.ts";
import { Household, Instance } from "../support/postern_process.ts";
import { testTls } from "../support/tls_files.ts";

/** A browser that shows nothing: the test plays it, with the URL from the output. */
const browser = { POSTERN_BROWSER: "true" };
const whoAmI = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];

peerTest(
  "kubectl signs in with postern exec-credential at a stand-in for OpenShift's OAuth server, and a real API server accepts it",
  ["kubectl", "kubernetes", "lieutenant"],
  async ({ kubectl, ...paths }, t) => {
    await using server = await Lieutenant.start({ ...paths, clusters: [] });
    await using api = await OpenShiftApi.start(server.kubernetes);
    await using home = await Household.open();
    await storeClusters(home, [{
      id: "c-shift",
      displayName: "Shift",
      facts: {},
      dynamicFacts: {
        openshiftApiURL: api.url,
        talosAPICertificateAuthorityData: btoa(testTls.ca),
      },
    }, {
      id: "c-new",
      displayName: "Without a certificate authority",
      facts: {},
      dynamicFacts: { openshiftApiURL: api.url },
    }]);
    await home.configure(api.config);
    const env = { PATH: `${kubectl.replace(/\/[^/]*$/, "")}:/usr/bin:/bin` };
    await using _instance = await home.instance();
    const wrapped = ["clusters", "shift", "kubectl", ...whoAmI];
    const person = (name: string) => `system:serviceaccount:default:${name}`;

    await t.step("without a browser, the error has a hint and nothing waits", async () => {
      const { code, stdout, stderr } = await home.run(wrapped, { env });
      assert.equal(stdout, "");
      assert.match(stderr, /postern: error: Cannot sign in to .*: this machine has no browser/);
      assert.match(stderr, /failed with exit code 5/);
      assert.equal(code, 1);
      assert.deepEqual(api.oauth.authorizations, []);
    });
    await t.step("the first kubectl opens the user's browser", async () => {
      const { code, stdout, stderr } = await browse(
        api,
        home.start(wrapped, { env: { ...env, ...browser } }),
      );
      assert.deepEqual([code, stdout], [0, person("person-1")], stderr);
    });
    await t.step("the next one does not, also with a kubeconfig in a file", async () => {
      const path = `${home.directory}/k.yaml`;
      const written = await home.run(["kubeconfig", "c-shift", "--file", path]);
      assert.equal(written.code, 0, written.stderr);
      const { command, env: ours } = home.commandLine([]);
      assert.ok((await Deno.readTextFile(path)).includes(command[0] ?? "?"));
      const { code, stdout, stderr } = await new Deno.Command(kubectl, {
        args: ["--kubeconfig", path, ...whoAmI],
        env: { ...ours, ...env },
        clearEnv: true,
      }).output();
      const text = new TextDecoder();
      assert.deepEqual([code, text.decode(stdout)], [0, person("person-1")], text.decode(stderr));
      assert.equal(api.oauth.authorizations.length, 1);
    });
    await t.step("a token that the cluster rejects causes a new sign-in", async () => {
      await api.account("person-2");
      await spoilt(home);
      const { code, stdout, stderr } = await browse(
        api,
        home.start(wrapped, { env: { ...env, ...browser } }),
      );
      assert.deepEqual([code, stdout], [0, person("person-2")], stderr);
    });
    await t.step("several at the same time sign in once", async () => {
      await Deno.remove(await tokenFile(home));
      const before = api.oauth.authorizations.length;
      const running = [1, 2, 3, 4].map(() => home.start(wrapped, { env: { ...env, ...browser } }));
      const address = await Promise.any(running.map((one) => one.says(/open this address:\n(\S+)\n/)));
      await api.browse(address[1] ?? "");
      for (const one of running) {
        const { code, stdout, stderr } = await one.ended;
        assert.deepEqual([code, stdout], [0, person("person-2")], stderr);
      }
      assert.equal(api.oauth.authorizations.length, before + 1);
    });
    await t.step("a token from elsewhere works without a browser", async () => {
      await Deno.rename(await tokenFile(home), `${home.directory}/stored`);
      const { idToken } = JSON.parse(await Deno.readTextFile(`${home.directory}/stored`));
      await Deno.writeTextFile(`${home.directory}/token`, `${idToken}\n`);
      const given = await home.run(["exec-credential", "--token-file", `${home.directory}/token`], {
        env: { KUBERNETES_EXEC_INFO: execInfo(api), ...noScreen },
      });
      assert.deepEqual([given.code, given.stdout], [0, ""], given.stderr);
      const { code, stdout, stderr } = await home.run(wrapped, { env });
      assert.deepEqual([code, stdout], [0, person("person-2")], stderr);
    });
    await t.step("a client of version v1beta1 gets a response in that version", async () => {
      const { code, stdout, stderr } = await home.run(["exec-credential"], {
        env: { KUBERNETES_EXEC_INFO: execInfo(api, "v1beta1") },
      });
      assert.equal(code, 0, stderr);
      const { apiVersion, kind, status } = JSON.parse(stdout);
      assert.deepEqual([apiVersion, kind], ["client.authentication.k8s.io/v1beta1", "ExecCredential"]);
      assert.match(status.token, /^[A-Za-z0-9_.-]{100,}$/);
    });
    const kubeconfig = (...args: string[]) => home.run(["clusters", "c-new", "kubeconfig", ...args]);
    const authority = /certificate-authority-data: "([^"]+)"/;
    await t.step("an API server's authority is trusted on first use only on request", async () => {
      const { code, stdout, stderr } = await kubeconfig();
      assert.deepEqual([code, authority.exec(stdout)], [0, null], stderr);
      const args = ["clusters", "--trust-on-first-use", "c-new", "kubectl", ...whoAmI];
      const first = await home.run(args, { env });
      assert.deepEqual([first.code, first.stdout], [0, person("person-2")], first.stderr);
      assert.match(
        first.stderr,
        /note: c-new: postern trusts its certificate authority from now on: SHA-256 (?:[0-9A-F]{2}:){31}/,
      );
    });
    await t.step("later only that authority is trusted, with or without the request", async () => {
      for (const args of [[], ["--trust-on-first-use"]]) {
        const { code, stdout, stderr } = await kubeconfig(...args);
        assert.deepEqual([code, stderr], [0, ""]);
        const [, data = ""] = authority.exec(stdout) ?? [];
        assert.equal(atob(data).replaceAll(/\s/g, ""), testTls.ca.replaceAll(/\s/g, ""));
      }
    });
    const config = `${home.places.config}/config.yaml`;
    await t.step("the plugin also uses an instance that runs only for kubectl", async () => {
      await aged(home);
      const { code, stdout, stderr } = await home.run(["--config", config, ...wrapped], { env });
      assert.deepEqual([code, stdout], [0, person("person-2")], stderr);
      assert.ok(!await isAged(home));
    });
    await t.step("by hand it uses the running instance, or connects as an instance would", async () => {
      for (const named of [[], ["--config", config]]) {
        await aged(home);
        const { code, stdout, stderr } = await home.run([...named, "exec-credential", "--server", api.url]);
        assert.equal(code, 0, stderr);
        assert.equal(JSON.parse(stdout).kind, "ExecCredential");
        // The cluster got a request.
        assert.ok(!await isAged(home), stderr);
      }
    });
    await t.step("and rejects another token", async () => {
      const [file = ""] = [...Deno.readDirSync(`${home.places.state}/first-use`)].map(({ name }) => name);
      await Deno.writeTextFile(`${home.places.state}/first-use/${file}`, testTls.client.cert);
      const { code, stdout, stderr } = await kubeconfig("--trust-on-first-use");
      assert.deepEqual([code, stdout], [5, ""], stderr);
      assert.match(stderr, /its certificate authority differs from the one on first use/);
      assert.match(stderr, /hint: .* remove ".*\/first-use\/site\.example\.net_[0-9]+\.pem"/);
    });
  },
);

const noScreen = { DISPLAY: "", WAYLAND_DISPLAY: "" };

/** Opens the URL in a command's output, and returns the command's result. */
async function browse(api: OpenShiftApi, running: Instance) {
  const [, address = ""] = await running.says(/open this address:\n(\S+)\n/);
  assert.match(await api.browse(address), /^200 [^]*You are signed in/);
  return await running.ended;
}

function execInfo(api: OpenShiftApi, version = "v1"): string {
  return JSON.stringify({
    apiVersion: `client.authentication.k8s.io/${version}`,
    kind: "ExecCredential",
    spec: {
      interactive: false,
      cluster: { server: api.url, "certificate-authority-data": btoa(testTls.ca) },
    },
  });
}

async function tokenFile({ places }: Household): Promise<string> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${places.cache}/tokens`)) {
    if (name.endsWith(".json")) names.push(name);
  }
  assert.equal(names.length, 1);
  return `${places.cache}/tokens/${names[0]}`;
}

/** Replaces the stored token by an invalid one that only the cluster can detect, last checked an hour ago. */
async function spoilt(home: Household): Promise<void> {
  await restored(home, (stored) => {
    const [header, claims] = stored.idToken.split(".");
    return { idToken: `${header}.${claims}.${"A".repeat(342)}`, checked: anHourAgo() };
  });
}

/** Sets the last check of the stored token to an hour ago. */
async function aged(home: Household): Promise<void> {
  await restored(home, () => ({ checked: anHourAgo() }));
}

async function isAged(home: Household): Promise<boolean> {
  const { checked } = JSON.parse(await Deno.readTextFile(await tokenFile(home)));
  return Date.parse(checked) < Date.now() - 1_800_000;
}

function anHourAgo(): string {
  return new Date(Date.now() - 3_600_000).toISOString();
}

async function restored(
  home: Household,
  change: (stored: { idToken: string }) => { idToken?: string; checked: string },
): Promise<void> {
  const path = await tokenFile(home);
  const stored = JSON.parse(await Deno.readTextFile(path));
  assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  await Deno.writeTextFile(path, JSON.stringify({ ...stored, ...change(stored) }));
}
