import assert from "node:assert/strict";
import { rsaBits, rsaSizeProblem } from "../../../../src/ssh/keys/rsa_size.ts";
import { blobOf, sshStrings } from "../../../support/ssh_public_keys.ts";

const modulus = (...bytes: number[]) => sshStrings("ssh-rsa", Uint8Array.of(1, 0, 1), Uint8Array.from(bytes));

Deno.test("rsaBits() counts the bits of the modulus, for RSA only", () => {
  assert.equal(rsaBits(blobOf.rsa(1)), 2048);
  assert.equal(rsaBits(modulus(0, 0x80, 1)), 16);
  assert.equal(rsaBits(modulus(0x7f, 1)), 15);
  assert.equal(rsaBits(modulus(0, 1)), 1);
  assert.equal(rsaBits(modulus()), 0);
  assert.equal(rsaBits(sshStrings("ssh-rsa")), 0);
  assert.equal(rsaBits(blobOf.ed25519(1)), undefined);
  assert.equal(rsaBits(Uint8Array.of(1, 2, 3)), undefined);
});

Deno.test("rsaBits() reads the key in a certificate", () => {
  const certificate = sshStrings(
    "ssh-rsa-cert-v01@openssh.com",
    "nonce",
    Uint8Array.of(1, 0, 1),
    Uint8Array.of(0, 0x80, 1),
  );
  assert.equal(rsaBits(certificate), 16);
});

Deno.test("rsaSizeProblem() requires 1024 bits, or RequiredRSASize", () => {
  assert.equal(rsaSizeProblem(blobOf.rsa(1), {}), undefined);
  assert.equal(rsaSizeProblem(blobOf.rsa(1), { requiredRsaSize: 2048 }), undefined);
  assert.match(
    rsaSizeProblem(blobOf.rsa(1), { requiredRsaSize: 3072 }) ?? "",
    /2048 bits.*RequiredRSASize is 3072/,
  );
  assert.match(rsaSizeProblem(modulus(0x80, 0), {}) ?? "", /16 bits/);
  assert.equal(rsaSizeProblem(blobOf.ed25519(1), { requiredRsaSize: 9999 }), undefined);
});
