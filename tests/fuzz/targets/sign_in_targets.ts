import assert from "node:assert/strict";
import { HttpClient } from "../../../src/http/mod.ts";
import { OidcProvider } from "../../../src/signin/oidc_provider.ts";
import { refreshTokens } from "../../../src/signin/oidc_refresh.ts";
import { SignInCallback } from "../../../src/signin/sign_in_callback.ts";
import { isFresh, readClaims } from "../../../src/signin/sign_in_claims.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { decodePem, encodePem, readCertificate } from "../../../src/konnectivity/server/x509.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { recordingLog } from "../../support/recording_log.ts";
import { WebServer } from "../../support/web_server.ts";
import { type Bytes, type FuzzTarget, refusedOr, textOf } from "../fuzz_target.ts";

const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjgwODAiLCJzdWIiOiJhIn0.AAAA";

/** Readers of a browser's redirect, a provider's answers, and certificates. */
export const signInTargets: readonly FuzzTarget[] = [
  {
    name: "oidc-callback",
    words: [
      ...[
        "GET /?code=c&state=right",
        "GET /?",
        "code=",
        "state=",
        "right",
        "error=",
        "access_denied",
        "&",
        "=",
        "%00",
      ],
      ...[
        " HTTP/1.1\r\n",
        "Host: localhost\r\n",
        "Host: evil.example\r\n",
        "\r\n",
        "POST ",
        "HEAD ",
        "/",
        "%",
        "+",
      ],
      ...["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "<b>"],
    ],
    laws: callbackLaws,
  },
  {
    name: "oidc-answers",
    words: [
      ...["{", "}", '"', ":", ",", "null", "[", "]", "1", '"access_token":"a"', '"token_type":"bearer"', jwt],
      ...[`"id_token":"${jwt}"`, '"expires_in":3600', '"refresh_token":"r"', '"error":"invalid_grant"', "."],
      ...['"issuer":"http://127.0.0.1:8080"', '"token_endpoint":"http://127.0.0.1:8080/token"', "\\u0000"],
      ...[
        '"authorization_endpoint":"x"',
        '"jwks_uri":"http://127.0.0.1:8080/keys"',
        '"keys":[',
        '"kty":"RSA"',
      ],
    ],
    laws: answersLaws,
  },
  {
    name: "x509",
    words: [
      ...[
        "\x30\x82\x01\x00",
        "\x30\x00",
        "\x02\x01\x00",
        "\x03\x02\x00\x01",
        "\x06\x03\x55\x1d\x11",
        "\xa0\x03\x02\x01\x02",
      ],
      ...[
        "\x17\x0d260101000000Z",
        "\x18\x0f20500101000000Z",
        "\x01\x01\xff",
        "\x05\x00",
        "\x30\x80",
        "\x1f\x81\x01",
      ],
      ...["\x04\x02\x30\x00", "\x0c\x01a", "\x82\x01b", "\x30\x84\xff\xff\xff\xff"],
    ],
    laws: (input) => {
      const facts = refusedOr(() => readCertificate(input));
      if (facts) {
        assert.deepEqual(readCertificate(decodePem("CERTIFICATE", encodePem("CERTIFICATE", input))), facts);
      }
      refusedOr(() => decodePem("CERTIFICATE", textOf(input)), ["protocol", "config"]);
    },
  },
];

const { signal } = new AbortController();

/** Checks that only the browser with the right state signs in, after any other request. */
async function callbackLaws(input: Bytes): Promise<void> {
  const parts = { clock: new FakeClock(), network: new MemoryNetwork(), log: recordingLog() };
  await using callback = await SignInCallback.open(18000, parts, { signal });
  const codes: (string | null)[] = [];
  const result = callback.result({
    url: new URL("https://idp.example.net/"),
    state: "right",
    redeem: (answer) => {
      codes.push(answer.get("code"));
      return Promise.resolve({ result: "tokens", name: undefined });
    },
  }, { signal });
  const ask = async (bytes: Bytes) => {
    await using conn = await parts.network.connect({ host: "127.0.0.1", port: 18000 }, { signal });
    await conn.write(bytes).catch(() => {});
    await conn.closeWrite().catch(() => {});
    const into = new Uint8Array(16 * 1024);
    while (await conn.read(into).catch(() => null) !== null);
  };
  await ask(input);
  if (codes.length === 0) {
    await ask(
      new TextEncoder().encode("GET /?code=good&state=right HTTP/1.1\r\nHost: localhost:18000\r\n\r\n"),
    );
    assert.deepEqual(codes, ["good"]);
  } else {
    assert.match(textOf(input), /state=right|state=%72|state=r|stat%65|[%+]/);
  }
  assert.equal(codes.length, 1);
  assert.equal(await result, "tokens");
}

/** A provider with the test's answers, all from one address. */
class Provider {
  readonly clock = new FakeClock();
  readonly network = new MemoryNetwork();
  readonly client = new HttpClient(this);
  readonly server: WebServer;
  readonly answers = new Map<string, string>();

  constructor() {
    const listening = this.network.listen({ host: "127.0.0.1", port: 8080 });
    this.server = new WebServer(listening, ({ url }) => ({
      fields: [["content-type", "application/json"]],
      body: this.answers.get(url.pathname) ?? "{}",
    }));
  }
}

let provider: Provider | undefined;

const issuer = "http://127.0.0.1:8080";
const discovery = JSON.stringify({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
});

/** Checks that a provider's document, tokens and keys give a result, or an error without secrets. */
async function answersLaws(input: Bytes): Promise<void> {
  const parts = provider ??= new Provider();
  const text = textOf(input);
  const claims = readClaims(text);
  if (claims) isFresh(claims, parts.clock.date());
  parts.server.requests.length = 0;
  parts.network.conns.length = 0;
  const discovered = async (document: string) => {
    parts.answers.set("/.well-known/openid-configuration", document);
    const discoveryUrl = `${issuer}/.well-known/openid-configuration`;
    return await OidcProvider.discover({ discoveryUrl, clientId: "c" }, parts, { signal });
  };
  const failing = (error: unknown) => {
    assert.ok(error instanceof PosternError, String(error));
    assert.ok(!error.message.includes("SECRET") && error.message.length < 2000);
    return undefined;
  };
  const former = { idToken: jwt, refreshToken: "SECRET" };
  parts.answers.set("/token", text);
  parts.answers.set("/keys", text);
  const keep = () => Promise.resolve();
  await discovered(text).then((found) => refreshTokens(found, former, { signal, keep })).catch(failing);
  await discovered(discovery).then((found) => refreshTokens(found, former, { signal, keep })).catch(failing);
}
