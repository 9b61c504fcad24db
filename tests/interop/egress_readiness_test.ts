import assert from "node:assert/strict";
import { startTinyproxy } from "../support/real_proxies.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { testTls } from "../support/tls_files.ts";

interface Answer {
  readonly isAccepted: boolean;
  readonly endpoints?: readonly {
    readonly endpoint: string;
    readonly isReady: boolean;
    readonly attempts: number;
    readonly status?: number;
    readonly failure?: string;
  }[];
}

peerTest(
  "egress check --live probes through tinyproxy, with and without the proposed CA",
  ["tinyproxy"],
  async ({ tinyproxy }) => {
    await using home = await Household.open();
    await using proxy = await startTinyproxy(tinyproxy, home.directory, { user: "me", password: "hunter2" });
    await using plain = serve({});
    await using secure = serve(testTls.server);
    const url = `http://me:hunter2@${proxy.address}`;
    const endpoints = [
      `http://${plain.address}/ready`,
      `https://${secure.address}/`,
      `http://${plain.address}/gone`,
    ];
    const check = (spec: string, ...more: string[]) => live(home, spec, more);

    const good = await check(
      `httpProxy: "${url}", readinessEndpoints: ${JSON.stringify(endpoints.slice(0, 2))}`,
    );
    assert.equal(good.code, 7, "the CA of the second endpoint is unknown");
    assert.deepEqual(good.answer.endpoints?.map(({ isReady }) => isReady), [true, false]);
    assert.match(good.answer.endpoints?.[1]?.failure ?? "", /no CA that is trusted here/);

    const ca = `${home.directory}/ca.crt`;
    await Deno.writeTextFile(ca, testTls.ca);
    const trusted = await check(
      `httpProxy: "${url}", readinessEndpoints: ${JSON.stringify(endpoints.slice(0, 2))}`,
      "--ca",
      ca,
    );
    assert.equal(trusted.code, 0, JSON.stringify(trusted.answer));

    const gone = await check(
      `httpProxy: "${url}", readinessEndpoints: ${JSON.stringify([endpoints[2], endpoints[0]])}`,
    );
    assert.equal(gone.code, 7);
    assert.deepEqual(
      gone.answer.endpoints?.map(({ isReady, attempts, status }) => [isReady, attempts, status]),
      [
        [false, 3, 404],
        [true, 1, 200],
      ],
    );

    const stranger = url.replace("hunter2", "another");
    const refused = await check(
      `httpProxy: "${stranger}", readinessEndpoints: ${JSON.stringify(endpoints.slice(0, 2))}`,
    );
    assert.equal(refused.code, 7);
    for (const { failure } of refused.answer.endpoints ?? []) assert.match(failure ?? "", /40[17]/);
    for (const { said } of [good, trusted, gone, refused]) assert.doesNotMatch(said, /hunter2|another@/);
  },
);

peerTest(
  "egress check --live probes through a TLS proxy in front of tinyproxy",
  ["tinyproxy"],
  async ({ tinyproxy }) => {
    await using home = await Household.open();
    await using proxy = await startTinyproxy(tinyproxy, home.directory);
    await using front = inTls(proxy.port);
    await using secure = serve(testTls.server);
    const ca = `${home.directory}/ca.crt`;
    await Deno.writeTextFile(ca, testTls.ca);
    const spec = `httpsProxy: "https://${front.address}", readinessEndpoints: ["https://${secure.address}/"]`;
    const { code, answer } = await live(home, spec, ["--ca", ca]);
    assert.equal(code, 0, JSON.stringify(answer));
    assert.equal(answer.endpoints?.[0]?.status, 200);
  },
);

async function live(home: Household, spec: string, more: readonly string[]) {
  const path = `${home.directory}/proxy.yaml`;
  await Deno.writeTextFile(path, `kind: Proxy\nmetadata: { name: cluster }\nspec: { ${spec} }\n`);
  const { code, stdout, stderr } = await home.run(["egress", "check", path, "--live", "-o", "json", ...more]);
  assert.equal(stderr, "");
  return { code, answer: JSON.parse(stdout) as Answer, said: stdout + stderr };
}

interface Served extends AsyncDisposable {
  readonly address: string;
}

/** A site that has every page except /gone. */
function serve(tls: { cert?: string; key?: string }): Served {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls };
  const server = Deno.serve(
    options,
    ({ url }) => new Response("", { status: url.endsWith("/gone") ? 404 : 200 }),
  );
  return { address: `127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** A TLS front end for a loopback port. */
function inTls(port: number): Served {
  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...testTls.server });
  const done = (async () => {
    const all: Promise<unknown>[] = [];
    for await (const client of listener) {
      all.push((async () => {
        const server = await Deno.connect({ hostname: "127.0.0.1", port });
        await Promise.allSettled([
          client.readable.pipeTo(server.writable),
          server.readable.pipeTo(client.writable),
        ]);
      })());
    }
    await Promise.all(all);
  })();
  return {
    address: `127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await done;
    },
  };
}
