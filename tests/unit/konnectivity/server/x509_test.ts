import assert from "node:assert/strict";
import { isPosternError } from "../../../../src/words/mod.ts";
import { decodePem, encodePem } from "../../../../src/konnectivity/server/x509.ts";

const block = (text: string) => `-----BEGIN CERTIFICATE-----${text}-----END CERTIFICATE-----`;

Deno.test("decodePem() decodes encodePem() output inside other text", () => {
  for (const length of [1, 47, 48, 49, 1000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => at * 7);
    assert.deepEqual(decodePem("CERTIFICATE", `junk\n${encodePem("CERTIFICATE", bytes)}junk`), bytes);
  }
});

for (const text of ["", block("AB=C"), block("A"), block("\n=\n"), block("\u00e4")]) {
  Deno.test(`decodePem() rejects ${JSON.stringify(text)} with a config error`, () => {
    assert.throws(() => decodePem("CERTIFICATE", text), (error) => isPosternError(error, "config"));
  });
}
