import assert from "node:assert/strict";
import { Dex, ScriptedBrowser } from "../support/dex.ts";
import { storeClusters } from "../support/lab_clusters.ts";
import { Lieutenant } from "../support/lieutenant.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { testTls } from "../support/tls_files.ts";

peerTest(
  "kubectl signs in with kubelogin at dex, configured by the facts of a Talos cluster, and the API server accepts it",
  ["dex", "kubectl", "kubelogin", "kubernetes", "lieutenant"],
  async ({ kubectl, kubelogin, ...paths }, t) => {
    await using home = await Household.open();
    await using dex = await Dex.start(paths.dex, home.directory);
    const { issuer, discoveryUrl } = dex;
    await using server = await Lieutenant.start({
      ...paths,
      clusters: [],
      oidc: { issuer, clientId: "lieutenant", discoveryUrl },
    });
    await storeClusters(home, [{
      id: "c-talos",
      displayName: "Talos",
      facts: {},
      dynamicFacts: {
        talosApiURL: `https://${server.kubernetes}`,
        talosAPICertificateAuthorityData: btoa(testTls.ca),
        oidcIssuer: issuer,
        oidcClientId: "lieutenant",
      },
    }]);
    await home.configure("default: direct\n");
    await using _instance = await home.instance();
    const ca = `${home.directory}/ca.crt`;
    await Deno.writeTextFile(ca, testTls.ca);
    const directories = [kubectl, kubelogin].map((path) => path.replace(/\/[^/]*$/, ""));
    const env = { PATH: [...directories, "/usr/bin", "/bin"].join(":"), SSL_CERT_FILE: ca };
    const whoAmI = ["kubectl", "c-talos", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    await t.step("the first time with the browser", async () => {
      await using running = home.start(whoAmI, { env });
      try {
        // kubelogin listens on port 8000, or on 18000 if that is in use, and redirects the browser from
        // there.
        const [, address = ""] = await running.says(
          /visit the following URL in your browser.*(http:\/\/\S+)/,
        );
        assert.match(await new ScriptedBrowser().visit(address), /^200 /);
      } catch (error) {
        // Otherwise it would wait for a browser, and the test for it.
        running.kill("SIGTERM");
        throw error;
      }
      const { code, stdout, stderr } = await running.ended;
      assert.deepEqual([code, stdout], [0, "oidc:alice@example.com"], stderr);
    });
    await t.step("then without a browser", async () => {
      const { code, stdout, stderr } = await home.run(whoAmI, { env });
      assert.deepEqual([code, stdout], [0, "oidc:alice@example.com"], stderr);
    });
  },
);
