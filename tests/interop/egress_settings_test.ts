import assert from "node:assert/strict";
import { baseNoProxy, EgressLab } from "../support/egress_lab.ts";
import { makeCertificates } from "../support/kube_processes.ts";
import { peerTest } from "../support/peers.ts";
import { eventually } from "../support/peer_program.ts";

// Tests the settings for the platform's list, and the commands on the same cluster.

const proxy = "http://u:Hunter2Secret@proxy.example.net:3128";

/** Formats entries in the order of a list. */
const list = (...entries: readonly string[]) => entries.toSorted().join(",");

peerTest(
  "egress: the controller, no-proxy and render apply etcdNames and exclude",
  ["kubernetes"],
  async ({ kubernetes }, t) => {
    await using lab = await EgressLab.start(kubernetes);
    const { cluster, home } = lab;
    const automatic = baseNoProxy.split(",");
    const members = [0, 1, 2].map((index) => `etcd-${index}.c.example.com`);
    const settings = ["--etcd-names", "--exclude=.cluster.local", "--exclude=10.0.0.0/16"];
    const left = automatic.filter((entry) => entry !== ".cluster.local" && entry !== "10.0.0.0/16");
    const excluded = async () =>
      (await lab.report())?.conditions.find(({ type }) => type === "EntriesExcluded");
    await makeCertificates(kubernetes, home.directory, [{ name: "leaf", commonName: "leaf" }]);
    const ca = await Deno.readTextFile(`${home.directory}/ca.crt`);
    await cluster.apply(lab.map("openshift-config", "mine", { "ca-bundle.crt": ca }));
    const spec = { httpProxy: proxy, noProxy: "b.example.com", trustedCA: { name: "mine" } };

    {
      await using controller = await lab.controller([...settings, "--exclude=nowhere.example.com"]);
      await t.step(
        "the list has etcd's members without the excluded entries, which a condition names",
        async () => {
          const report = await lab.tried(spec);
          assert.equal(report.accepted, "True", report.message);
          assert.deepEqual(await lab.status(), [proxy, "", list(...left, ...members, "b.example.com")]);
          const condition = await excluded();
          assert.deepEqual([condition?.status, condition?.reason], ["True", "Configured"]);
          assert.match(condition?.message ?? "", /: \.cluster\.local, 10\.0\.0\.0\/16$/);
          const shown = (await lab.proxy()).status?.conditions?.find(({ type }) =>
            type === "EntriesExcluded"
          );
          assert.deepEqual(shown, condition);
          const warned = report.conditions.find(({ type }) => type === "Warned");
          assert.match(
            warned?.message ?? "",
            /exclude names "nowhere\.example\.com", which is not an automatic/,
          );
        },
      );

      await t.step(
        "an administrator's entry stays even if the same automatic entry is excluded",
        async () => {
          const report = await lab.tried({ ...spec, noProxy: ".cluster.local" });
          assert.equal(report.accepted, "True", report.message);
          assert.equal((await lab.status())[2], list(...left, ...members, ".cluster.local"));
          await lab.tried(spec);
        },
      );

      await t.step("the number of etcd's members follows the install-config", async () => {
        const config = (more: string) =>
          lab.map("kube-system", "cluster-config-v1", {
            "install-config": `networking:\n  machineNetwork:\n  - cidr: 10.0.0.0/16\n${more}`,
          });
        await cluster.apply(config("controlPlane: { replicas: 1 }\n"));
        const fewer = list(...left, "etcd-0.c.example.com", "b.example.com");
        await eventually("one member is listed", async () => (await lab.status())[2] === fewer);
        await cluster.apply(config(""));
        const all = list(...left, ...members, "b.example.com");
        await eventually("three members are listed", async () => (await lab.status())[2] === all);
      });
      controller.kill("SIGTERM");
      assert.equal((await controller.ended).code, 0);
    }

    // The current context is unreachable: the commands name the other one.
    const kubeconfig = `${home.directory}/two.kubeconfig`;
    const right = JSON.parse(cluster.kubeconfig());
    await Deno.writeTextFile(
      kubeconfig,
      JSON.stringify({
        ...right,
        clusters: [...right.clusters, { name: "away", cluster: { server: "https://127.0.0.1:1" } }],
        contexts: [...right.contexts, {
          name: "away",
          context: { cluster: "away", user: right.users[0].name },
        }],
        "current-context": "away",
      }),
      { mode: 0o600 },
    );
    const context = right["current-context"];
    const source = ["--kubeconfig", kubeconfig, "--context", context];

    await t.step("no-proxy prints the same list for the cluster with the same settings", async () => {
      const made = await home.run(["egress", "no-proxy", ...source, ...settings]);
      assert.deepEqual(made, { code: 0, stdout: `${(await lab.status())[2]}\n`, stderr: "" });
    });

    await t.step(
      "without settings no-proxy prints the platform's list with the administrator's entries",
      async () => {
        const made = await home.run(["egress", "no-proxy", ...source, "--no-proxy", "a.example.com"]);
        assert.deepEqual(made, { code: 0, stdout: `${list(...automatic, "a.example.com")}\n`, stderr: "" });
      },
    );

    await t.step("no-proxy shows how clients apply the cluster's list", async () => {
      const url = "http://b.example.com/";
      const asked = ["--for-url", url, "-o", "json"];
      const { code, stdout, stderr } = await home.run(["egress", "no-proxy", ...source, ...asked]);
      assert.equal(code, 0, stderr);
      const [verdict] = JSON.parse(stdout).verdicts;
      assert.deepEqual([verdict.url, verdict.clients.go, verdict.clients.curl], [url, "direct", undefined]);
    });

    await t.step("the current context is the default", async () => {
      const { code, stderr } = await home.run(["egress", "no-proxy", "--kubeconfig", kubeconfig]);
      assert.equal(code, 6, stderr);
      assert.match(stderr, /127\.0\.0\.1:1/);
    });

    await t.step("render uses the accepted values instead of the spec, and masks the password", async () => {
      const [, , accepted] = await lab.status();
      const objects = `${home.directory}/objects.yaml`;
      await Deno.writeTextFile(objects, asking);
      await lab.edit({ httpProxy: "http://proposed.example.net:3128", noProxy: "c.example.com" });
      const { code, stdout, stderr } = await home.run(["egress", "render", objects, ...source]);
      assert.equal(code, 0, stderr);
      const added = stdout.split("\n").filter((line) => line.startsWith("+")).map((line) =>
        line.slice(1).trim()
      );
      assert.ok(added.includes("value: http://u:***@proxy.example.net:3128"), stdout);
      assert.ok(added.includes("- name: NO_PROXY"), stdout);
      // YAML splits a long text into several lines.
      assert.ok(added.join("").replaceAll(/\s/g, "").includes(accepted ?? "none"), stdout);
      for (const line of ca.trim().split("\n")) assert.ok(added.includes(line), stdout);
      assert.doesNotMatch(stdout + stderr, /Hunter2Secret|proposed/);
    });

    await t.step(
      "without settings the list is again the platform's, without a condition",
      async () => {
        await using _controller = await lab.controller();
        const report = await lab.tried({ ...spec, noProxy: "" });
        assert.equal(report.accepted, "True", report.message);
        assert.equal((await lab.status())[2], baseNoProxy);
        assert.equal(await excluded(), undefined);
      },
    );
  },
);

const asking = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop, annotations: { config.openshift.io/inject-proxy: web } }
spec: { template: { spec: { containers: [{ name: web, image: web }] } } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: ca, namespace: shop, labels: { config.openshift.io/inject-trusted-cabundle: "true" } }
`;
