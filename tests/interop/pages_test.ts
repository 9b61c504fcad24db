import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import { farSide } from "../support/far_side.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { RawClient, socks5Asking, throughSocks5 } from "../support/raw_client.ts";
import { echoServer } from "../support/target_server.ts";

/** Sends a request and returns the whole response. */
async function ask(address: string, ...lines: readonly string[]): Promise<string> {
  using client = await RawClient.connect(address);
  await client.send([...lines, "Connection: close", "", ""].join("\r\n"));
  return await client.restText();
}

/** The address of a listener of a kind, from the log. */
async function listenerOf(instance: Instance, kind: string): Promise<string> {
  return (await instance.says(new RegExp(`listener\\.ready kind=${kind} address=(\\S+)`)))[1] ?? "";
}

peerTest(
  "Prometheus' own parser reads the metrics of a used instance",
  ["promcheck"],
  async ({ promcheck }) => {
    await using home = await Household.open();
    await using far = farSide({});
    await home.configure(`
listen: { admin: "127.0.0.1:0" }
transports: { far-1: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: 127.0.0.2, via: far-1 }]
`);
    await using target = echoServer();
    await using instance = await home.instance();
    const address = await instance.address();
    using live = await throughSocks5(address, { host: "127.0.0.1", port: target.port });
    await live.send("x");
    await live.take(1);
    for (const host of ["127.0.0.2", "nothing.invalid"]) {
      using failing = await RawClient.connect(address);
      await failing.send(socks5Asking({ host, port: 1 }));
      await failing.rest();
    }
    const admin = await listenerOf(instance, "admin");
    for (const field of ["Host: any.example", `Host: ${admin}\r\nOrigin: http://evil.example`]) {
      assert.match(await ask(admin, "GET /metrics HTTP/1.1", field), /^HTTP\/1\.1 403 /);
    }
    const answer = await ask(admin, "GET /metrics HTTP/1.1", `Host: ${admin}`);
    assert.match(answer, /^HTTP\/1\.1 200 [^]*\r\nContent-Type: text\/plain; version=0\.0\.4/i);
    const text = answer.slice(answer.indexOf("\r\n\r\n") + 4);
    const { code, stdout, stderr } = await runPeer(promcheck, [], { stdin: text });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /_total COUNTER \d[^]* HISTOGRAM \d/);
    assert.doesNotMatch(text, /nothing\.invalid|127\.0\.0\.2/);
  },
);

Deno.test("a POST from a foreign origin gets 403, whatever its other fields", async () => {
  await using home = await Household.open();
  await home.configure("default: direct\n");
  await using instance = await home.instance();
  const address = await instance.address();
  for (const path of ["/reload", "/connections/1/close"]) {
    const foreign = [
      ["Origin: http://evil.example"],
      ["Origin: null"],
      ["Sec-Fetch-Site: cross-site"],
      [`Origin: https://${address}`],
    ];
    for (const fields of foreign) {
      const answer = await ask(
        address,
        `POST ${path} HTTP/1.1`,
        `Host: ${address}`,
        "Content-Length: 0",
        ...fields,
      );
      assert.match(answer, /^HTTP\/1\.1 403 /, `${path} ${fields}`);
    }
    assert.match(
      await ask(address, `POST ${path} HTTP/1.1`, `Host: ${address}`, "Content-Length: 0"),
      /^HTTP\/1\.1 401 /,
    );
    assert.match(
      await ask(address, `POST ${path} HTTP/1.1`, "Host: evil.example", "Content-Length: 0"),
      /^HTTP\/1\.1 403 /,
    );
  }
  assert.doesNotMatch(instance.stderr, /config\.reload/);
});

Deno.test("a PAC file read through a tunnel names PROXY if the instance requires a password", async () => {
  await using home = await Household.open();
  await home.configure("listen: { auth: { users: [{ name: me, passwordFile: pw }] } }\ndefault: reject\n");
  await Deno.writeTextFile(`${home.places.config}/pw`, "secret\n", { mode: 0o600 });
  await using instance = await home.instance();
  const address = await instance.address();
  for (const [host, proxy] of [["localhost:1", "localhost:1"], ["localhost", "localhost:80"]] as const) {
    const pac = await ask(address, "GET /proxy.pac HTTP/1.1", `Host: ${host}`);
    assert.ok(pac.includes(`var PROXY = "PROXY ${proxy}";`), pac.slice(0, 400));
  }
});

Deno.test("a password in a URL appears in no log, page, status or explanation", async () => {
  await using home = await Household.open();
  await using far = farSide({}, { protocol: "http", credentials: { user: "me", password: "another" } });
  const secret = "hunter2-and-more";
  await home.configure(
    `transports: { far: { proxy: { url: "http://me:${secret}@${far.address}" } } }\ndefault: far\n`,
  );
  await using instance = await home.instance(["--log-level", "debug"]);
  const address = await instance.address();
  const said = [
    await ask(address, "CONNECT site.example:80 HTTP/1.1", "Host: x"),
    await ask(address, "GET http://site.example/ HTTP/1.1", "Host: x"),
    await ask(address, "GET / HTTP/1.1", `Host: ${address}`),
    await ask(address, "GET /proxy.pac HTTP/1.1", `Host: ${address}`),
  ];
  const commands = [
    ["status"],
    ["status", "-o", "json"],
    ["explain", "site.example", "--dial"],
    ["config", "show"],
    [
      "config",
      "check",
    ],
    ["env"],
    ["doctor"],
  ];
  for (const command of commands) {
    const { stdout, stderr } = await home.run(command);
    said.push(stdout, stderr);
  }
  instance.kill("SIGTERM");
  await instance.ended;
  for (const text of [...said, instance.stderr]) {
    assert.ok(!text.includes(secret), text);
    assert.ok(!text.includes(btoa(`me:${secret}`)), text);
  }
  assert.match(said[0] ?? "", /^HTTP\/1\.1 403 [^]*Cannot sign in at the proxy "far"/);
});

Deno.test("`config schema` prints a JSON Schema that accepts valid and rejects invalid configurations", async () => {
  await using home = await Household.open();
  const { code, stdout } = await home.run(["config", "schema"]);
  assert.equal(code, 0);
  const validate = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(
    JSON.parse(stdout),
  );
  const right = {
    listen: { mixed: ["127.0.0.1:0", "[::1]:0"], limits: { handshake: "10s" }, allowOpen: false },
    transports: {
      far: { proxy: { url: "http://127.0.0.1:3128" } },
      near: { proxy: { url: "socks5h://p:1" }, via: "far" },
    },
    routes: [{ to: [".example.net", "10.0.0.0/8"], via: "far" }],
    direct: ["public.example.net"],
    default: "direct",
  };
  assert.ok(validate(right), JSON.stringify(validate.errors));
  for (
    const wrong of [{ listne: 1 }, { routes: [{ to: "a" }] }, { transports: { far: { prxy: {} } } }, {
      default: 5,
    }]
  ) {
    assert.equal(validate(wrong), false, JSON.stringify(wrong));
  }
});
