import assert from "node:assert/strict";
import { HttpClient } from "../../src/http/mod.ts";
import { readObject } from "../../src/emergency/mod.ts";
import { isPosternError } from "../../src/words/mod.ts";
import type { Network } from "../../src/world/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { GpgHome } from "../support/gpg_home.ts";
import { storeClusters } from "../support/lab_clusters.ts";
import { Lieutenant } from "../support/lieutenant.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { ProxyServer } from "../support/proxy_server.ts";
import { S3Server } from "../support/s3_server.ts";
import { testTls } from "../support/tls_files.ts";

peerTest(
  "emergency credentials arrive over postern's routes with TLS, and kubectl uses them with a real API server",
  ["gpg", "kubectl", "kubernetes", "lieutenant", "versitygw"],
  async ({ gpg, kubectl, versitygw, ...paths }, t) => {
    await using server = await Lieutenant.start({
      ...paths,
      clusters: [{ id: "c-one", tenant: "t-a", displayName: "One" }],
    });
    await using home = await Household.open();
    const people = await GpgHome.open(gpg, `${home.directory}/g`);
    const key = await people.key("alice", "ecc", "");
    await using s3 = await S3Server.start(versitygw, {
      directory: home.directory,
      region: "us-east-1",
      buckets: ["emergency"],
      isSecure: true,
    });
    // The name of the service resolves only behind the proxy.
    await using proxy = new ProxyServer(behind("site.example.net"), { host: "127.0.0.1", port: 0 }, {
      protocol: "socks5",
    });
    const id = "c-Real.1";
    const odd = "c odd/../%2e ünï\u{1f511}";
    await storeClusters(home, [{
      id,
      displayName: "Real",
      facts: {},
      dynamicFacts: {
        talosApiURL: `https://${server.kubernetes}`,
        talosAPICertificateAuthorityData: btoa(testTls.ca),
      },
    }]);
    await s3.putSecrets("emergency", id, [await people.encrypt(Lieutenant.tokens.alice, [key])]);
    await s3.putSecrets("emergency", odd, [
      await people.encrypt(
        JSON.stringify({
          clusters: [{ name: "x", cluster: { server: "https://api.example.net" } }],
          contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
          users: [{ name: "x", user: { token: "secret-of-the-odd-one" } }],
        }),
        [key],
      ),
    ]);
    const { port } = new URL(s3.endpoint);
    const endpoint = `https://site.example.net:${port}`;
    const file = async (name: string, content: string) => {
      await Deno.writeTextFile(`${home.directory}/${name}`, content);
      return `${home.directory}/${name}`;
    };
    const { access, secret } = S3Server.keys;
    await home.configure(JSON.stringify({
      listen: { mixed: "127.0.0.1:0" },
      transports: {
        far: { proxy: { url: `socks5://127.0.0.1:${"port" in proxy.endpoint ? proxy.endpoint.port : 0}` } },
      },
      routes: [{ to: ["site.example.net"], via: "far" }],
      default: "direct",
      emergency: {
        buckets: [{
          endpoint,
          bucket: "emergency",
          accessKeyFile: await file("access", access),
          secretKeyFile: await file("secret", secret),
          ca: await file("ca.pem", testTls.ca),
        }],
        privateKeyFile: await file("key.asc", key.secret),
      },
    }));
    await using instance = await home.instance();
    const path = `${home.directory}/em.yaml`;
    await t.step("postern reached the endpoint through its transport only", async () => {
      const { code, stderr } = await home.run(["clusters", "real", "emergency-credentials", "--file", path]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(proxy.asked, [`site.example.net:${port}`]);
    });
    await t.step("without a catalogue, any name is an id", async () => {
      const env = { XDG_CACHE_HOME: `${home.directory}/nothing` };
      const { code, stdout, stderr } = await home.run(["emergency-credentials", odd], { env });
      assert.equal(code, 0, stderr);
      assert.match(stderr, /no catalogue is stored; using "c odd.*" as the cluster's id/);
      assert.match(stdout, /token: "secret-of-the-odd-one"/);
      assert.ok(
        stdout.includes(`current-context: ${JSON.stringify(`emergency-credentials/${odd}`)}`),
        stdout,
      );
    });
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await new Deno.Command(kubectl, {
        args: ["--kubeconfig", path, ...args],
        env: { HOME: home.directory, PATH: "/usr/bin:/bin" },
        clearEnv: true,
      }).output();
      const text = new TextDecoder();
      assert.equal(code, 0, text.decode(stderr));
      return text.decode(stdout);
    };
    await t.step("kubectl uses the file as its kubeconfig", async () => {
      const view = JSON.parse(await run("config", "view", "-o", "json"));
      assert.equal(view["current-context"], `emergency-credentials/${id}`);
      assert.equal(view.clusters[0].cluster["proxy-url"], `socks5://${await instance.address()}`);
    });
    await t.step("kubectl signs in through postern", async () => {
      const found = await run("get", "clusters.syn.tools", "-n", "lieutenant", "-o", "name");
      assert.equal(found, "cluster.syn.tools/c-one\n");
      await instance.says(new RegExp(`conn\\.done .*target=${server.kubernetes} .*outcome=done`));
    });
  },
);

peerTest(
  "readObject() reports a wrong clock, as a real S3 server detects it",
  ["versitygw"],
  async ({ versitygw }) => {
    const directory = await Deno.makeTempDir();
    try {
      await using s3 = await S3Server.start(versitygw, {
        directory,
        region: "us-east-1",
        buckets: ["emergency"],
      });
      const network = createNetwork();
      const late = { ...systemClock, date: () => new Date(Date.now() - 3_600_000) };
      const bucket = {
        endpoint: new URL(s3.endpoint),
        region: "us-east-1",
        bucket: "emergency",
        accessKey: S3Server.keys.access,
        secretKey: S3Server.keys.secret,
      };
      const client = new HttpClient({ clock: systemClock, network });
      const signal = new AbortController().signal;
      await assert.rejects(
        readObject(bucket, "em-x", { client, clock: late }, { signal }),
        (error: Error) => {
          assert.ok(isPosternError(error, "auth"));
          assert.match(
            error.message,
            /clocks differ too much \(RequestTimeTooSkewed\): local time is "20.*", server time "20/,
          );
          return true;
        },
      );
      assert.equal(await readObject(bucket, "em-x", { client, clock: systemClock }, { signal }), undefined);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

/** A network that resolves one name to this machine. */
function behind(name: string): Network {
  const network = createNetwork();
  const connect = network.connect.bind(network);
  network.connect = (endpoint, options) =>
    connect(
      "host" in endpoint && endpoint.host === name ? { ...endpoint, host: "127.0.0.1" } : endpoint,
      options,
    );
  return network;
}
