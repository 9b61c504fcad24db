import assert from "node:assert/strict";
import {
  checkNoProxy,
  mergedBundle,
  mergedNoProxy,
  noProxyVerdicts,
  readCaBundle,
} from "../../src/egress/mod.ts";
import { checkProxyUrl } from "../../src/egress/check_proxy_url.ts";
import { byBytes } from "../../src/egress/no_proxy/go_text.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";
import {
  pick,
  randomItem,
  randomNoProxy,
  randomProxyUrl,
  randomTarget,
  seededDice,
} from "../support/random_proxies.ts";

// Laws of the rules of a cluster's proxy, on generated texts: no function throws, and merging is idempotent.

const certificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUF6GVrqbMLtftEmF217JwzpkyEQ8wCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPcG9zdGVybiB0ZXN0IENBMCAXDTI2MTExODExMDc0NVoYDzIx
MjYxMDI1MTEwNzQ1WjAaMRgwFgYDVQQDDA9wb3N0ZXJuIHRlc3QgQ0EwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATNsU36fKAIx8ZJQkJuk5IcguKfcyxY2/iSC3xM
+SwABGssvsF1X9+9EbB53CPz94lHy3hUMVQpF8XNCs8s568Mo2MwYTAdBgNVHQ4E
FgQUDRT6qxpgGbK8CjgcyUKu9L2S8sEwHwYDVR0jBBgwFoAUDRT6qxpgGbK8Cjgc
yUKu9L2S8sEwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZI
zj0EAwIDSAAwRQIhAN4goTHdCj2mtWJWHeBYAb0o8r4XZXJz8AYyVtcR2iLOAiA6
6++kC41q2F4YAUnRDMriGZ9vEgckgxo0uCL8EhY/SQ==
-----END CERTIFICATE-----
`;

Deno.test("mergedNoProxy() is idempotent, preserves the behavior of clients, and sorts", () => {
  const dice = seededDice(11);
  for (let run = 0; run < fuzzRuns(3000); run++) {
    const [user, automatic] = [
      randomNoProxy(dice),
      Array.from({ length: dice(4) }, () => randomItem(dice).trim()),
    ];
    if (user === "*") continue;
    const merged = mergedNoProxy(user, automatic);
    assert.equal(mergedNoProxy(merged, automatic), merged);
    const items = merged.split(",");
    assert.deepEqual(items, [...new Set(items)].sort(byBytes));
    const url = randomTarget(dice);
    const all = noProxyVerdicts([user, ...automatic].join(","), url);
    assert.equal(noProxyVerdicts(merged, url)?.go, all?.go, `${user} | ${automatic} | ${url}`);
  }
});

Deno.test("checkNoProxy() and checkProxyUrl() accept any text and quote no password", () => {
  const dice = seededDice(12);
  for (let run = 0; run < fuzzRuns(5000); run++) {
    const junk = Array.from({ length: dice(20) }, () => String.fromCharCode(dice(300))).join("");
    checkNoProxy(junk);
    checkProxyUrl(junk, "httpsProxy");
    const url = randomProxyUrl(dice).replace("u:p", "u:hunter2");
    // Without the @ sign a password looks like a name.
    if (!/hunter2.*@/s.test(url)) continue;
    assert.doesNotMatch(
      JSON.stringify([checkNoProxy(url).problems, checkProxyUrl(url, "httpProxy")]
        .map((said) => "place" in said ? "" : said)),
      /hunter2/,
    );
  }
});

Deno.test("readCaBundle() accepts any text and reads its own result", async () => {
  const dice = seededDice(13);
  const pieces = [
    certificate,
    certificate.trim(),
    "-----BEGIN PRIVATE KEY-----\nAAAA\n",
    "-----END CERTIFICATE-----\n",
    "-----BEGIN CERTIFICATE-----\n",
    "words\n",
    "a: b\n",
    "\r\n",
    "AAAA\n",
    "\0",
  ];
  for (let run = 0; run < fuzzRuns(1000); run++) {
    const text = Array.from({ length: dice(6) }, () => pick(dice, pieces)).join("");
    const { certificates } = await readCaBundle(text, { now: new Date(0) });
    const merged = mergedBundle(certificates, []);
    assert.ok("text" in merged);
    assert.doesNotMatch(merged.text, /PRIVATE/);
    if (merged.count === 0) continue;
    const again = await readCaBundle(merged.text, { now: new Date(0) });
    assert.deepEqual([again.problems, again.certificates], [[], certificates]);
  }
});
