import assert from "node:assert/strict";
import { storeClusters } from "../support/lab_clusters.ts";
import { Lieutenant } from "../support/lieutenant.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { testTls } from "../support/tls_files.ts";

peerTest(
  "kubectl reaches a real API server through postern, by the cluster's facts",
  ["kubectl", "kubernetes", "lieutenant"],
  async ({ kubectl, ...paths }, t) => {
    await using server = await Lieutenant.start({
      ...paths,
      clusters: [{ id: "c-one", tenant: "t-a", displayName: "One" }],
    });
    await using home = await Household.open();
    await storeClusters(home, [{
      id: "c-real",
      displayName: "Real",
      facts: { login: JSON.stringify({ token: Lieutenant.tokens.alice }) },
      dynamicFacts: {
        talosApiURL: `https://${server.kubernetes}`,
        talosAPICertificateAuthorityData: btoa(testTls.ca),
      },
    }]);
    await home.configure(
      "catalogues: [{ lieutenant: https://api.syn.example.net, authInfoFact: login }]\ndefault: direct\n",
    );
    const env = { PATH: `${kubectl.replace(/\/[^/]*$/, "")}:/usr/bin:/bin` };
    const command = ["get", "clusters.syn.tools", "-n", "lieutenant", "-o", "name"];
    const found = "cluster.syn.tools/c-one\n";
    await t.step("through the running instance", async () => {
      await using instance = await home.instance();
      const { code, stdout, stderr } = await home.run(["clusters", "real", "kubectl", ...command], { env });
      assert.deepEqual([code, stdout, stderr], [0, found, ""]);
      await instance.says(
        new RegExp(`conn\\.done .*protocol=socks5 target=${server.kubernetes} .*outcome=done`),
      );
    });
    await t.step("through a temporary instance", async () => {
      const { code, stdout, stderr } = await home.run(["kubectl", "c-real", ...command], { env });
      assert.deepEqual([code, stdout], [0, found], stderr);
    });
    await t.step("with a file, and a forbidden request", async () => {
      await using _instance = await home.instance();
      const path = `${home.directory}/k.yaml`;
      assert.equal((await home.run(["kubeconfig", "--file", path])).code, 0);
      const args = ["--kubeconfig", path, "--context", "c-real", "auth", "can-i", "delete", "namespaces"];
      const { code, stdout } = await new Deno.Command(kubectl, {
        args,
        env: { HOME: home.directory, ...env },
        clearEnv: true,
      }).output();
      assert.deepEqual([code, new TextDecoder().decode(stdout)], [1, "no\n"]);
    });
  },
);
