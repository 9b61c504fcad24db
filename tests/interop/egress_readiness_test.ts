import assert from "node:assert/strict";
import { createNetwork } from "../../src/runtime/network.ts";
import { EgressLab } from "../support/egress_lab.ts";
import { makeCertificates } from "../support/kube_processes.ts";
import { peerTest } from "../support/peers.ts";
import { startTinyproxy } from "../support/real_proxies.ts";
import { type WebAnswer, WebServer } from "../support/web_server.ts";

peerTest(
  "egress controller: readiness endpoints through a real proxy",
  ["kubernetes", "tinyproxy"],
  async ({ kubernetes, tinyproxy }, t) => {
    await using lab = await EgressLab.start(kubernetes);
    const { directory } = lab.home;
    await using proxy = await startTinyproxy(tinyproxy, directory);
    await using guarded = await startTinyproxy(tinyproxy, directory, {
      user: "u",
      password: "Hunter2Secret",
    });
    let failures = 2;
    await using site = new WebServer(
      createNetwork().listen({ host: "127.0.0.1", port: 0 }),
      ({ url }): WebAnswer => {
        const path = url.pathname.slice(1);
        if (path === "silent") return "silent";
        if (path === "late") return { status: failures-- > 0 ? 503 : 200 };
        if (path === "away") {
          return { status: 302, fields: [["Location", "/404"]] };
        }
        return { status: Number(path) };
      },
    );
    const at = (path: string) => `http://127.0.0.1:${site.port}/${path}`;
    const httpProxy = `http://${proxy.address}`;
    await lab.edit({});
    await using controller = await lab.controller(["--probe-timeout=2s"]);
    const resultsOf = async (spec: Record<string, unknown>) => {
      const report = await lab.tried(spec);
      return { report, results: report.endpoints.map(({ isReady, attempts }) => `${isReady} ${attempts}`) };
    };

    await t.step(
      "S24, S27: 204, 302 without a place and 304 pass; two failures and then 200 take three",
      async () => {
        const endpoints = ["204", "302", "304", "late"].map(at);
        const { report, results } = await resultsOf({ httpProxy, readinessEndpoints: endpoints });
        assert.equal(report.accepted, "True", report.message);
        assert.deepEqual(results, ["true 1", "true 1", "true 1", "true 3"]);
        assert.equal((await lab.status())[0], httpProxy);
      },
    );

    await t.step(
      "S25, S26, S31: 404 behind a redirect, 401, 500 and silence fail, and all are told of",
      async () => {
        const before = await lab.status();
        const endpoints = ["204", "away", "401", "500", "silent"].map(at);
        const { report, results } = await resultsOf({
          httpsProxy: httpProxy,
          httpProxy,
          readinessEndpoints: endpoints,
        });
        assert.equal(report.reason, "NotReady");
        assert.deepEqual(results, ["true 1", "false 3", "false 3", "false 3", "false 3"]);
        assert.match(report.endpoints[1]?.message ?? "", /\/404 answered 404/);
        assert.match(report.endpoints[4]?.message ?? "", /no answer|2 s|time/i);
        for (const path of ["away", "401", "500", "silent"]) {
          assert.match(
            report.message,
            new RegExp(`/${path} `),
          );
        }
        assert.deepEqual(await lab.status(), before);
      },
    );

    await t.step(
      "S25, S32: a proxy that wants a password is 407; with the right one it passes, and nobody sees it",
      async () => {
        const bad = await resultsOf({
          httpProxy: `http://${guarded.address}`,
          readinessEndpoints: [at("204")],
        });
        assert.match(bad.report.message, /407|another user or password/);
        const right = {
          httpProxy: `http://u:Hunter2Secret@${guarded.address}`,
          readinessEndpoints: [at("204")],
        };
        const good = await resultsOf(right);
        assert.equal(good.report.accepted, "True", good.report.message);
        assert.equal(JSON.stringify(good.report).includes("Hunter2Secret"), false);
        assert.equal(controller.stderr.includes("Hunter2Secret"), false);
      },
    );

    await t.step(
      "S29, S30: a server of our own authority passes with trustedCA alone, listed or not",
      async () => {
        const own = `${directory}/own`;
        await Deno.mkdir(own);
        await makeCertificates(kubernetes, own, [{ name: "leaf", commonName: "leaf", hosts: ["127.0.0.1"] }]);
        const read = (file: string) => Deno.readTextFileSync(`${own}/${file}`);
        await using secure = new SecureSite(read("leaf.crt"), read("leaf.key"));
        const endpoints = [`https://127.0.0.1:${secure.port}/`];
        const bad = await resultsOf({ httpProxy, readinessEndpoints: endpoints });
        assert.equal(bad.report.reason, "NotReady");
        assert.match(bad.report.message, /unknown|authority|issuer|certificate/i);
        await lab.cluster.apply(lab.map("openshift-config", "own", { "ca-bundle.crt": read("ca.crt") }));
        const good = await resultsOf({
          httpProxy,
          noProxy: "127.0.0.1",
          trustedCA: { name: "own" },
          readinessEndpoints: endpoints,
        });
        assert.equal(good.report.accepted, "True", good.report.message);
        assert.match(
          good.report.conditions.find(({ type }) => type === "Warned")?.message ?? "",
          /through the proxy although/,
        );
      },
    );

    await t.step(
      "a CA map that changes while the endpoints are asked is looked at again before anything is accepted",
      async () => {
        const asked = Promise.withResolvers<void>();
        const go = Promise.withResolvers<void>();
        await using slow = new WebServer(createNetwork().listen({ host: "127.0.0.1", port: 0 }), async () => {
          asked.resolve();
          await go.promise;
          return { status: 200 };
        });
        const [before, bundle] = [await lab.status(), await lab.bundle()];
        const generation = await lab.edit({
          httpProxy,
          trustedCA: { name: "own" },
          readinessEndpoints: [`http://127.0.0.1:${slow.port}/`],
        });
        await asked.promise;
        await lab.cluster.apply(lab.map("openshift-config", "own", { "ca-bundle.crt": "garbage" }));
        go.resolve();
        const report = await lab.verdict(generation);
        assert.equal(report.reason, "TrustedCANoCertificate", report.message);
        assert.deepEqual(await lab.status(), before);
        assert.equal(await lab.bundle(), bundle);
      },
    );
  },
);

/** A TLS server that answers everything with 200. */
class SecureSite implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(cert: string, key: string) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, cert, key, onListen: () => {} },
      () => new Response("ok"),
    );
  }

  get port(): number {
    return this.#server.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
