import assert from "node:assert/strict";
import { EgressLab } from "../support/egress_lab.ts";
import { InterceptingProxy } from "../support/intercepting_proxy.ts";
import { peerTest } from "../support/peers.ts";
import { testTls } from "../support/tls_files.ts";

// Trust bundles mostly serve proxies that intercept TLS.

const unknownAuthority = /no CA that is trusted here has signed its certificate/;

peerTest(
  "an endpoint behind a TLS-intercepting squid is ready only with its CA in trustedCA",
  ["kubernetes", "squid", "openssl"],
  async ({ kubernetes, squid, openssl }, t) => {
    await using lab = await EgressLab.start(kubernetes);
    const { cluster, home } = lab;
    const siteCa = `${home.directory}/site-ca.crt`;
    await Deno.writeTextFile(siteCa, testTls.ca);
    await using proxy = await InterceptingProxy.start({ squid, openssl }, {
      directory: `${home.directory}/squid`,
      siteCa,
    });
    await using site = securedSite();
    const endpoint = `https://127.0.0.1:${site.port}/ready`;
    const spec = { httpsProxy: `http://${proxy.address}`, readinessEndpoints: [endpoint] };
    await cluster.apply(
      lab.map("openshift-config", "company", { "ca-bundle.crt": proxy.ca }),
      lab.map("openshift-config", "site", { "ca-bundle.crt": testTls.ca }),
    );
    await using _controller = await lab.controller();

    for (
      const { name, more } of [
        { name: "without a CA", more: {} },
        { name: "with the CA of the site instead of the proxy's", more: { trustedCA: { name: "site" } } },
      ]
    ) {
      await t.step(`${name} the proxy is rejected with the cause`, async () => {
        const before = site.requests;
        const report = await lab.tried({ ...spec, ...more });
        assert.deepEqual([report.accepted, report.reason], ["False", "NotReady"], report.message);
        const [probed] = report.endpoints;
        assert.deepEqual([probed?.isReady, probed?.attempts], [false, 3]);
        assert.match(probed?.message ?? "", unknownAuthority);
        assert.deepEqual(await lab.status(), ["", "", ""]);
        assert.equal(site.requests, before, "no request was sent over an untrusted connection");
      });
    }

    await t.step("with the proxy's CA the proxy and its bundle are accepted", async () => {
      const report = await lab.tried({ ...spec, trustedCA: { name: "company" } });
      assert.equal(report.accepted, "True", report.message);
      assert.deepEqual(report.endpoints.map(({ isReady, attempts }) => [isReady, attempts]), [[true, 1]]);
      assert.equal((await lab.status())[1], spec.httpsProxy);
      assert.equal((await lab.bundle())?.trim(), proxy.ca.trim());
      assert.equal(site.requests, 1);
    });

    await t.step("egress check --live reports the same for a file", async () => {
      const [file, ca] = [`${home.directory}/proxy.yaml`, `${home.directory}/company.crt`];
      await Deno.writeTextFile(
        file,
        JSON.stringify({ kind: "Proxy", metadata: { name: "cluster" }, spec }),
      );
      await Deno.writeTextFile(ca, proxy.ca);
      const check = (...more: string[]) => home.run(["egress", "check", file, "--live", ...more]);
      const [without, trusted] = [await check(), await check("--ca", ca)];
      assert.equal(without.code, 7, without.stderr);
      assert.match(without.stdout, unknownAuthority);
      assert.equal(trusted.code, 0, trusted.stdout + trusted.stderr);
      assert.match(trusted.stdout, /answered 200/);
    });
  },
);

function securedSite(): { readonly port: number; readonly requests: number } & AsyncDisposable {
  let requests = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...testTls.server },
    () => {
      requests += 1;
      return new Response("");
    },
  );
  return {
    port: server.addr.port,
    get requests() {
      return requests;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
