import assert from "node:assert/strict";
import { emergencyObjectName } from "../../src/emergency/mod.ts";
import { GpgHome } from "../support/gpg_home.ts";
import { labCluster, storeClusters } from "../support/lab_clusters.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { S3Server } from "../support/s3_server.ts";
import { testTls } from "../support/tls_files.ts";

/** A secret that must appear only in the requested output. */
const token = "TOKEN-OF-THE-EMERGENCY-ACCOUNT";
const server = "https://api.c-lab.example.net:6443";

const kubeconfig = `apiVersion: v1
kind: Config
current-context: admin
clusters: [{ name: lab, cluster: { server: "${server}", certificate-authority-data: ${btoa(testTls.ca)} } }]
contexts: [{ name: admin, context: { cluster: lab, user: em, namespace: kube-system } }]
users: [{ name: em, user: { token: ${token} } }]
`;

peerTest(
  "postern emergency-credentials decrypts gpg's files from a real S3 server",
  ["gpg", "versitygw"],
  async ({ gpg, versitygw }, t) => {
    await using home = await Household.open();
    const people = await GpgHome.open(gpg, `${home.directory}/g`);
    const rsa = await people.key("alice", "rsa", "pass of alice");
    const ecc = await people.key("bob", "ecc", "pass of bob");
    const other = await people.key("carol", "ecc", "");
    await using s3 = await S3Server.start(versitygw, {
      directory: home.directory,
      region: "rma1",
      buckets: ["empty", "emergency"],
    });
    const put = (id: string, messages: readonly string[]) => s3.putSecrets("emergency", id, messages);
    await storeClusters(
      home,
      [
        "c-lab",
        "c-token",
        "c-hidden",
        "c-binary",
        "c-many",
        "c-foreign",
        "c-exec",
        "c-none",
        "c-html",
        "c-huge",
      ].map((id) => labCluster(id, id, {})),
    );
    const message = await people.encrypt(kubeconfig, [other, rsa, ecc]);
    const foreign = await people.encrypt(kubeconfig, [other]);
    await put("c-lab", ["junk", foreign, message]);
    await put("c-token", [await people.encrypt(token, [ecc])]);
    await put("c-hidden", [await people.encrypt(kubeconfig, [other, ecc], { hidden: true })]);
    await put("c-binary", [await people.encrypt(kubeconfig, [rsa], { form: "base64" })]);
    await put("c-many", [...Array<string>(1000).fill(foreign), message]);
    await put("c-foreign", [foreign]);
    await put("c-exec", [
      await people.encrypt(
        kubeconfig.replace(
          `{ token: ${token} }`,
          "{ exec: { apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, id] } }",
        ),
        [ecc],
      ),
    ]);
    await s3.put("emergency", await emergencyObjectName("c-html"), "<html><body>sign in</body></html>");
    await s3.put("emergency", await emergencyObjectName("c-huge"), " ".repeat(10_000_000));
    const config = async ({ more = "", secret = S3Server.keys.secret, region = "rma1" } = {}) => {
      await files(home, {
        "access": `${S3Server.keys.access}\n`,
        "secret": `${secret}\n`,
        "alice.asc": rsa.secret,
        "alice.pass": `${rsa.passphrase}\n`,
      });
      const bucket = (name: string) =>
        `{ endpoint: "${s3.endpoint}", region: ${region}, bucket: ${name}, accessKeyFile: access, ` +
        "secretKeyFile: secret }";
      await home.configure(`listen: { mixed: 127.0.0.1:3131 }
default: direct
emergency:
  buckets: [${bucket("empty")}, ${bucket("emergency")}]
${more}`);
    };
    const mine = "  privateKeyFile: alice.asc\n  passphraseFile: alice.pass\n";
    const asBob = { KHARON_PASSBOLT_KEY: ecc.secret, KHARON_PASSBOLT_PASSPHRASE: ecc.passphrase };
    const run = (args: readonly string[], env: Record<string, string> = {}) => home.run(args, { env });
    const get = (id: string, env?: Record<string, string>) =>
      run(["clusters", id, "emergency-credentials"], env);

    await config({ more: mine });
    await t.step("with an RSA key from a file: to stdout, through postern", async () => {
      const { code, stdout, stderr } = await get("c-lab");
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^ +token: "${token}"$`, "m"));
      assert.match(stdout, new RegExp(`^ +server: "${server}"$`, "m"));
      assert.match(stdout, /^ +proxy-url: "socks5:\/\/127\.0\.0\.1:3131"$/m);
      assert.match(stdout, /^ +namespace: "kube-system"$/m);
      assert.match(stdout, /^current-context: "emergency-credentials\/c-lab"$/m);
      assert.match(stderr, /note: "empty" at http:.* has no credentials of c-lab/);
      assert.ok(!stderr.includes(token));
    });
    await t.step("the same by the short form", async () => {
      const { code, stdout } = await run(["emergency-credentials", "c-lab"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(token));
    });
    await t.step("binary, and the right one among a thousand", async () => {
      for (const id of ["c-binary", "c-many"]) {
        const { code, stdout, stderr } = await get(id);
        assert.equal(code, 0, stderr);
        assert.match(stdout, new RegExp(token));
      }
    });

    await config();
    await t.step("with an ed25519 key from the environment: a hidden recipient, a token only", async () => {
      const hidden = await get("c-hidden", asBob);
      assert.match(hidden.stdout, new RegExp(token), hidden.stderr);
      const { code, stdout, stderr } = await get("c-token", asBob);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^ +server: "https:\/\/api\.c-token\.example\.net:6443"$/m);
      assert.match(stdout, new RegExp(`token: "${token}"`));
    });

    await t.step("with subkeys only", async () => {
      const { stdout, stderr } = await get("c-lab", {
        ...asBob,
        KHARON_PASSBOLT_KEY: await people.subkeys(ecc),
      });
      assert.match(stdout, new RegExp(token), stderr);
    });

    const failures: readonly Failure[] = [
      { id: "c-none", code: 6, says: /they are not in "empty" at .*, "emergency" at / },
      { id: "c-foreign", code: 5, says: /they are for other keys \([0-9A-F]{16}\)/ },
      { id: "c-exec", code: 1, says: /exec\.command is "sh", which is not in allowExec/ },
      { id: "c-html", code: 1, says: /it is a web page/ },
      { id: "c-huge", code: 1, says: /more than 4194304 bytes/ },
      {
        id: "c-lab",
        env: { ...asBob, KHARON_PASSBOLT_PASSPHRASE: "wrong" },
        code: 5,
        says: /passphrase from KHARON_PASSBOLT_PASSPHRASE is wrong/,
      },
      {
        id: "c-lab",
        env: { KHARON_PASSBOLT_KEY: ecc.secret },
        code: 5,
        says: /no passphrase is given\n.*--passphrase-file/,
      },
      { id: "c-lab", env: { KHARON_PASSBOLT_KEY: ecc.public }, code: 4, says: /it is a public key/ },
      { id: "c-lab", env: {}, code: 4, says: /no private key is configured\n.*--private-key FILE/ },
    ];
    for (const { id, env = asBob, code, says } of failures) {
      await t.step(`${id} fails with ${code}: ${says.source}`, async () => {
        const ended = await get(id, env);
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, says);
        assert.equal(ended.stdout, "");
        for (const secret of [token, ecc.passphrase, S3Server.keys.secret, "PRIVATE KEY"]) {
          assert.ok(!ended.stderr.includes(secret), ended.stderr);
        }
      });
    }
    await t.step("a wrong secret key, and a wrong region", async () => {
      await config({ secret: "another" });
      const wrong = await get("c-lab", asBob);
      assert.equal(wrong.code, 5, wrong.stderr);
      assert.match(wrong.stderr, /denies access \("SignatureDoesNotMatch", status 403\)/);
      assert.match(wrong.stderr, /hint: check secretKeyFile and region/);
      await config({ region: "us-east-1" });
      const elsewhere = await get("c-lab", asBob);
      assert.equal(elsewhere.code, 4, elsewhere.stderr);
      assert.match(elsewhere.stderr, /the bucket is in the region "rma1"/);
    });
    await t.step("only requested files are on disk", async () => {
      const found = await holding(home.directory, token, ["g"]);
      assert.deepEqual(found, []);
    });
    await t.step("--file, --merge and --temp write for the owner only", async () => {
      await config({ more: mine });
      const path = `${home.directory}/em.yaml`;
      const written = await run(["clusters", "c-lab", "emergency-credentials", "--file", path]);
      assert.deepEqual([written.code, written.stdout], [0, ""], written.stderr);
      const merged = `${home.directory}/merged.yaml`;
      for (const what of ["kubeconfig", "emergency-credentials"]) {
        const { code, stderr } = await run(["clusters", "c-lab", what, "--merge", "--file", merged]);
        assert.equal(code, 0, stderr);
        const isTold = /use it with: kubectl --context emergency-credentials\/c-lab\n/.test(stderr);
        assert.equal(isTold, what === "emergency-credentials");
      }
      const text = await Deno.readTextFile(merged);
      assert.match(text, /name: "c-lab"[^]*name: "emergency-credentials\/c-lab"/);
      assert.match(text, /current-context: "c-lab"/);
      const temp = await run(["clusters", "c-lab", "emergency-credentials", "--temp"]);
      for (const file of [path, merged, temp.stdout.trim()]) {
        assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
        assert.ok((await Deno.readTextFile(file)).includes(token));
      }
    });
  },
);

interface Failure {
  readonly id: string;
  readonly env?: Record<string, string>;
  readonly code: number;
  readonly says: RegExp;
}

/** Writes files next to the configuration. */
async function files({ places }: Household, contents: Readonly<Record<string, string>>): Promise<void> {
  await Deno.mkdir(places.config, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(contents)) {
    await Deno.writeTextFile(`${places.config}/${name}`, content, { mode: 0o600 });
  }
}

/** Returns the files below a directory that contain a text. */
async function holding(directory: string, text: string, except: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isFile, isDirectory } of Deno.readDir(directory)) {
    if (except.includes(name)) continue;
    const path = `${directory}/${name}`;
    if (isDirectory) found.push(...await holding(path, text, []));
    else if (isFile && (await Deno.readTextFile(path)).includes(text)) found.push(path);
  }
  return found;
}
