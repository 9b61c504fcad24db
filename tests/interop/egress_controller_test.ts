import assert from "node:assert/strict";
import { baseNoProxy, EgressLab, type ReportView } from "../support/egress_lab.ts";
import { makeCertificates } from "../support/kube_processes.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const proxy = "http://proxy.example.net:3128";
const managed = "openshift-config-managed";

/** Three authorities with a leaf certificate each; the leaf of `over` has expired. */
async function authorities(kubernetes: string, directory: string) {
  const made = async (name: string, seconds?: number) => {
    const own = `${directory}/${name}`;
    await Deno.mkdir(own);
    await makeCertificates(kubernetes, own, [{
      name: "leaf",
      commonName: name,
      ...(seconds && { seconds }),
    }]);
    const read = (file: string) => Deno.readTextFile(`${own}/${file}`);
    return { ca: await read("ca.crt"), leaf: await read("leaf.crt"), key: await read("leaf.key") };
  };
  return { one: await made("one"), two: await made("two"), over: await made("over", -60) };
}

function countOf(text: string | undefined): number {
  return text?.match(/BEGIN CERTIFICATE/g)?.length ?? 0;
}

function conditionOf({ conditions }: ReportView, type: string): string | undefined {
  return conditions.find((condition) => condition.type === type)?.status;
}

peerTest("egress controller: from spec to status", ["kubernetes"], async ({ kubernetes }, t) => {
  await using lab = await EgressLab.start(kubernetes);
  const { one, two, over } = await authorities(kubernetes, lab.home.directory);
  const system = `${lab.home.directory}/system.pem`;
  await Deno.writeTextFile(system, two.ca);
  await using controller = await lab.controller([], { system });
  const say = (name: string, text: string) =>
    lab.cluster.apply(lab.map("openshift-config", name, { "ca-bundle.crt": text }));
  const trusting = (name: string) => ({ trustedCA: { name } });
  let systemCount = 0;

  await t.step(
    "an empty spec is accepted with an empty status and the system's bundle",
    async () => {
      const report = await lab.tried({});
      assert.equal(report.accepted, "True", report.message);
      assert.deepEqual(await lab.status(), ["", "", ""]);
      const bundle = await lab.bundle();
      assert.equal(bundle?.includes(two.ca.trim()), true);
      systemCount = countOf(bundle);
    },
  );

  await t.step("items are trimmed, and the platform's entries are added", async () => {
    const report = await lab.tried({ httpProxy: proxy, noProxy: "b.example.com, a.example.com" });
    assert.equal(report.accepted, "True", report.message);
    const items = [...baseNoProxy.split(","), "a.example.com", "b.example.com"].sort();
    assert.deepEqual(await lab.status(), [proxy, "", items.join(",")]);
  });

  const refused: { name: string; spec: Record<string, unknown>; reason?: string; says: RegExp }[] = [
    {
      name: "a list without a proxy",
      spec: { noProxy: "a.com" },
      says: /noProxy needs a proxy/,
    },
    {
      name: "an https:// proxy as httpProxy",
      spec: { httpProxy: "https://p" },
      says: /spec\.httpProxy must begin/,
    },
    {
      name: "two invalid fields, both reported",
      spec: { httpProxy: "https://p", noProxy: "*.a.com" },
      says: /spec\.httpProxy.*spec\.noProxy|spec\.noProxy.*spec\.httpProxy/,
    },
    { name: "a proxy without a host", spec: { httpProxy: "http://" }, says: /must have a host/ },
    {
      name: "a proxy inside the cluster",
      spec: { httpProxy: "http://10.128.3.4:3128" },
      says: /must be outside the cluster: 10\.128\.3\.4 is in the cluster's network 10\.128\.0\.0\/14/,
    },
    {
      name: "a missing CA ConfigMap, reported at once",
      spec: { httpProxy: proxy, ...trusting("nowhere") },
      reason: "TrustedCAMapMissing",
      says: /ConfigMap openshift-config\/nowhere does not exist/,
    },
    {
      name: "an http endpoint with only an httpsProxy",
      spec: { httpsProxy: proxy, readinessEndpoints: ["http://e.example.net/"] },
      says: /must begin with https:\/\/ unless httpProxy is set/,
    },
  ];
  for (const { name, spec, says, reason = "InvalidSpec" } of refused) {
    await t.step(`${name} is rejected, and the accepted values stay byte for byte`, async () => {
      const [before, bundle] = [await lab.status(), await lab.bundle()];
      const generation = await lab.edit(spec);
      const report = await lab.verdict(generation);
      assert.equal(report.accepted, "False");
      assert.equal(report.reason, reason);
      assert.match(report.message, says);
      assert.match(report.message, /kubectl edit/);
      assert.deepEqual(await lab.status(), before);
      assert.equal(await lab.bundle(), bundle);
      const shown = (await lab.proxy()).status?.conditions?.find(({ type }) => type === "Accepted");
      assert.equal(shown?.status, "False");
      assert.equal(shown?.observedGeneration, generation);
    });
  }

  await t.step("a CA ConfigMap is rejected for five reasons, each with its own code", async () => {
    const broken = one.ca.replace(/\n[A-Za-z0-9+/]{20}/, "\nAAAAAAAAAAAAAAAAAAAA");
    const texts: [name: string, data: Record<string, string>, reason: string][] = [
      ["s15-key", { other: one.ca }, "TrustedCAKeyMissing"],
      ["s15-empty", { "ca-bundle.crt": "" }, "TrustedCAEmpty"],
      ["s15-blank", { "ca-bundle.crt": " \n\t" }, "TrustedCABlank"],
      ["s15-none", { "ca-bundle.crt": "# nothing here\n" }, "TrustedCANoCertificate"],
      ["s15-broken", { "ca-bundle.crt": broken }, "TrustedCABrokenCertificate"],
    ];
    const bundle = await lab.bundle();
    for (const [name, data, reason] of texts) {
      await lab.cluster.apply(lab.map("openshift-config", name, data));
      const report = await lab.tried({ httpProxy: proxy, ...trusting(name) });
      assert.equal(report.reason, reason, report.message);
      assert.match(report.message, new RegExp(name));
    }
    assert.equal(await lab.bundle(), bundle);
  });

  await t.step("a corrected spec is accepted without a restart", async () => {
    const report = await lab.tried({ httpsProxy: proxy });
    assert.equal(report.accepted, "True", report.message);
    assert.equal(conditionOf(report, "Degraded"), "False");
    assert.deepEqual(await lab.status(), ["", proxy, baseNoProxy]);
  });

  await t.step("httpsProxy may be an http:// proxy without httpProxy", async () => {
    assert.deepEqual((await lab.status()).slice(0, 2), ["", proxy]);
  });

  await t.step("* gets no automatic entries", async () => {
    const report = await lab.tried({ httpProxy: proxy, noProxy: "*" });
    assert.equal(report.accepted, "True", report.message);
    assert.deepEqual(await lab.status(), [proxy, "", "*"]);
  });

  const warned: [name: string, spec: Record<string, unknown>, says: RegExp][] = [
    ["what matches nothing", { httpProxy: proxy, noProxy: "999.999.999.999" }, /matches nothing/],
    ["a proxy in its own list", { httpProxy: proxy, noProxy: "example.net" }, /listed in noProxy/],
  ];
  for (const [name, spec, says] of warned) {
    await t.step(`${name} is accepted with a warning`, async () => {
      const report = await lab.tried(spec);
      assert.equal(report.accepted, "True", report.message);
      const warning = report.conditions.find(({ type }) => type === "Warned");
      assert.equal(warning?.status, "True");
      assert.match(warning?.message ?? "", says);
    });
  }

  await t.step("a private key in a CA ConfigMap is skipped with a warning", async () => {
    await say("s16", `# ours\n${one.key}\n${one.ca}`);
    const report = await lab.tried({ httpProxy: proxy, ...trusting("s16") });
    assert.equal(report.accepted, "True", report.message);
    assert.match(report.conditions.find(({ type }) => type === "Warned")?.message ?? "", /private key/);
    const bundle = await lab.bundle();
    assert.equal(countOf(bundle), systemCount + 1);
    assert.equal(bundle?.includes("PRIVATE"), false);
  });

  await t.step("an expired certificate and one that is not a CA are accepted with a warning", async () => {
    await say("s17", `${over.leaf}\n${one.leaf}`);
    const report = await lab.tried({ httpProxy: proxy, ...trusting("s17") });
    assert.equal(report.accepted, "True", report.message);
    assert.equal(conditionOf(report, "Warned"), "True");
    assert.equal(countOf(await lab.bundle()), systemCount + 2);
  });

  await t.step(
    "a text without a final newline parses, and the bundle has no duplicates",
    async () => {
      await say("s18", `${one.ca}${two.ca}${one.ca}`.trimEnd());
      const report = await lab.tried({ httpProxy: proxy, ...trusting("s18") });
      assert.equal(report.accepted, "True", report.message);
      assert.equal(countOf(await lab.bundle()), systemCount + 1);
    },
  );

  await t.step("a corrupted CA ConfigMap is reported, and the old bundle stays", async () => {
    const [bundle, { metadata: { generation } }] = [await lab.bundle(), await lab.proxy()];
    await say("s18", "garbage");
    const report = await lab.verdict(generation, ({ accepted }) => accepted === "False");
    assert.match(report.message, /openshift-config\/s18/);
    assert.equal(await lab.bundle(), bundle);
    await say("s18", one.ca);
    await lab.verdict(generation, ({ accepted }) => accepted === "True");
  });

  await t.step("a deleted CA ConfigMap is reported, and the bundle stays", async () => {
    const [bundle, { metadata: { generation } }] = [await lab.bundle(), await lab.proxy()];
    await lab.cluster.remove(lab.map("openshift-config", "s18", {}));
    const report = await lab.verdict(generation, ({ accepted }) => accepted === "False");
    assert.equal(conditionOf(report, "Degraded"), "True");
    assert.equal(report.reason, "TrustedCAMapMissing");
    assert.equal(await lab.bundle(), bundle);
  });

  await t.step("without trustedCA the bundle is again the system's", async () => {
    await lab.tried({ httpProxy: proxy });
    assert.equal(countOf(await lab.bundle()), systemCount);
  });

  await t.step("the status follows changed networks without an edit", async () => {
    const networks = "/apis/config.openshift.io/v1/networks/cluster";
    const set = (cidr: string) =>
      lab.cluster.json(
        "PATCH",
        networks,
        { status: { clusterNetwork: [{ cidr }] } },
        "application/merge-patch+json",
      );
    await set("10.128.0.0/13");
    const grown = baseNoProxy.replace("10.128.0.0/14", "10.128.0.0/13");
    await eventually("the status has the new networks", async () => (await lab.status())[2] === grown);
    await set("10.128.0.0/14");
    await eventually(
      "the status has the former networks",
      async () => (await lab.status())[2] === baseNoProxy,
    );
  });

  await t.step("an invalid machine network is rejected, and the status stays", async () => {
    const before = await lab.status();
    const config = (cidr: string) =>
      lab.cluster.apply(lab.map("kube-system", "cluster-config-v1", {
        "install-config": `networking:\n  machineNetwork:\n  - cidr: ${cidr}\n`,
      }));
    await config("nonsense");
    const { metadata: { generation } } = await lab.proxy();
    const report = await lab.verdict(generation, ({ accepted }) => accepted === "False");
    assert.equal(report.reason, "PlatformUnknown");
    assert.deepEqual(await lab.status(), before);
    await config("10.0.0.0/16");
    await lab.verdict(generation, ({ accepted }) => accepted === "True");
  });

  await t.step("the status does not change while the bundle cannot be written", async () => {
    const before = await lab.status();
    // An immutable bundle.
    await lab.cluster.json("PATCH", `/api/v1/namespaces/${managed}/configmaps/trusted-ca-bundle`, {
      immutable: true,
    }, "application/merge-patch+json");
    await say("s23", one.ca);
    const report = await lab.tried({ httpsProxy: proxy, ...trusting("s23") });
    assert.equal(report.reason, "BundleNotWritten", report.message);
    assert.deepEqual(await lab.status(), before);
    await lab.cluster.remove(lab.map(managed, "trusted-ca-bundle", {}));
    await eventually("the bundle and the status are written", async () => (await lab.status())[1] === proxy);
    assert.equal(countOf(await lab.bundle()), systemCount + 1);
  });

  await t.step("a second Proxy is ignored with an Event", async () => {
    await lab.edit({ httpProxy: "https://wrong" }, "other");
    await eventually("an Event reports the second Proxy", async () => {
      const { items } = await lab.cluster.json("GET", "/api/v1/namespaces/default/events") as {
        items: { reason: string; involvedObject: { name: string } }[];
      };
      return items.some(({ reason, involvedObject }) =>
        reason === "Ignored" && involvedObject.name === "other"
      );
    });
  });

  await t.step("no log, report, condition, Event or metric contains the password", async () => {
    const secret = "Hunter2Secret";
    for (
      const spec of [
        { httpProxy: `http://u:${secret}@p.example.net:3128` },
        { httpProxy: `https://u:${secret}@p.example.net:3128`, noProxy: `http://u:${secret}@p/,*.x` },
        { httpProxy: `http://u:${secret}@:3128` },
        { httpProxy: `u:${secret}@p:3128` },
        { httpProxy: proxy, readinessEndpoints: [`ftp://u:${secret}@p/`, `http://u:${secret}@/x`] },
      ]
    ) await lab.tried(spec);
    const metrics = await (await fetch(`http://${await controller.address()}/metrics`)).text();
    const { conditions } = (await lab.proxy()).status ?? {};
    const events = JSON.stringify(await lab.cluster.json("GET", "/api/v1/events"));
    const places = { log: controller.stderr, metrics, conditions, events, report: await lab.report() };
    for (const [place, held] of Object.entries(places)) {
      assert.equal(JSON.stringify(held).includes(secret), false, place);
    }
    assert.match(metrics, /postern_egress_leader 1/);
  });

  await t.step("without a proxy all three values are cleared", async () => {
    await lab.tried({});
    assert.deepEqual(await lab.status(), ["", "", ""]);
  });

  await t.step("neither a second reconciliation nor a second controller writes anything", async () => {
    await lab.tried({ httpProxy: proxy });
    const versions = async () =>
      JSON.stringify([
        (await lab.proxy()).metadata.resourceVersion,
        (await lab.mapOf(managed, "trusted-ca-bundle"))?.metadata.resourceVersion,
        (await lab.mapOf("postern-egress", "postern-egress-status"))?.metadata.resourceVersion,
      ]);
    const before = await versions();
    controller.kill("SIGTERM");
    assert.equal((await controller.ended).code, 0);
    await using second = await lab.controller([], { system });
    await eventually("the controller has reconciled", async () => {
      const text = await (await fetch(`http://${await second.address()}/metrics`)).text();
      return /postern_egress_accepted 1/.test(text);
    });
    assert.equal(await versions(), before);
  });
});
