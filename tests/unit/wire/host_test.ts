import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { decodeHost, hostOf } from "../../../src/wire/host.ts";
import { invisibleNames, noAddresses } from "../../support/spellings.ts";

for (
  const [text, host] of [
    ["a.example", "a.example"],
    ["A.Example.", "A.Example."],
    ["_srv.a", "_srv.a"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.Example.", "xn--bcher-kva.example."],
    ["例え。テスト", "xn--r8jz45g.xn--zckzah"],
    ["１９２.0.2.1", "192.0.2.1"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["10.0.0.1", "10.0.0.1"],
    ["010.0.0.1", "8.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["127。0。0。1。", "127.0.0.1"],
    ["0xg", "0xg"],
    ["3scale.example", "3scale.example"],
    ["a~b!c.example", "a~b!c.example"],
    ["[::1]", "::1"],
    ["2001:DB8:0::1", "2001:db8::1"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["a".repeat(255), "a".repeat(255)],
  ] as const
) {
  Deno.test(`hostOf() reads ${text.slice(0, 20)}`, () => {
    assert.equal(hostOf(text), host);
    if (text.length < 255) assert.equal(decodeHost(new TextEncoder().encode(text)), host);
  });
}

for (
  const [text, detail] of [
    ["", undefined],
    ["a b", undefined],
    ["a\0b", undefined],
    ["a\u00a0b", undefined],
    ["a/b", undefined],
    ["u@a", undefined],
    ["u@ü", undefined],
    ["ü/a", undefined],
    ["ü".repeat(250), undefined],
    ["ü:80", "address_type"],
    ["a".repeat(256), undefined],
    ["a:80", "address_type"],
    ["[a]", "address_type"],
    ["[10.0.0.1]", "address_type"],
    ["[::1", "address_type"],
    ["fe80::1%eth0", "address_type"],
    ["a%31", undefined],
    ["127.0.0.1%lo", undefined],
    ["1.2.3.4 x", undefined],
    ...noAddresses.map((text) => [text, undefined] as const),
    ...invisibleNames.map((text) => [text, undefined] as const),
  ] as const
) {
  Deno.test(`hostOf() rejects ${JSON.stringify(text.slice(0, 20))}`, () => {
    assert.throws(() => decodeHost(new TextEncoder().encode(text)), PosternError);
    assert.throws(() => hostOf(text), (error) => {
      assert(error instanceof PosternError);
      assert.deepEqual([error.code, error.detail], ["protocol", detail]);
      return true;
    });
  });
}

Deno.test("decodeHost() rejects invalid UTF-8", () => {
  assert.throws(() => decodeHost(Uint8Array.of(0x61, 0xff)), PosternError);
});
