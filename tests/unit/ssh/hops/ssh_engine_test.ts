import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { loadSsh2, type Ssh2Cipher, type Ssh2Decipher } from "../../../../src/ssh/session/ssh2_library.ts";
import { SshEngine } from "../../../../src/ssh/hops/ssh_engine.ts";
import { MemorySsh } from "../../../support/ssh_server.ts";

interface Ssh2Crypto {
  readonly CIPHER_INFO: Readonly<Record<string, unknown>>;
  createCipher(options: object): Ssh2Cipher;
  createDecipher(options: object): Ssh2Decipher;
}

// These fields are private in ssh2: a new version may move them. Then adapt SshEngine.

Deno.test("SshEngine finds the key parts of ssh2's chacha20-poly1305 where it expects them", async () => {
  const { default: ssh2 }: { default: Ssh2Crypto } = await import("ssh2/lib/protocol/crypto.js");
  const info = ssh2.CIPHER_INFO["chacha20-poly1305@openssh.com"];
  const key = Buffer.from(Array.from({ length: 64 }, (_, at) => at));
  const onWrite = () => {};
  const onPayload = () => {};
  const out = ssh2.createCipher({
    outbound: { seqno: 7, onWrite, cipherInfo: info, cipherKey: key, cipherIV: Buffer.alloc(0) },
  });
  assert.deepEqual(
    [
      out.outSeqno,
      out._onWrite,
      new Uint8Array(out._encKeyMain ?? []),
      new Uint8Array(out._encKeyPktLen ?? []),
    ],
    [7, onWrite, new Uint8Array(key.subarray(0, 32)), new Uint8Array(key.subarray(32))],
  );
  const into = ssh2.createDecipher({
    inbound: { seqno: 8, onPayload, decipherInfo: info, decipherKey: key, decipherIV: Buffer.alloc(0) },
  });
  assert.deepEqual(
    [
      into.inSeqno,
      into._onPayload,
      new Uint8Array(into._decKeyMain ?? []),
      new Uint8Array(into._decKeyPktLen ?? []),
    ],
    [8, onPayload, new Uint8Array(key.subarray(0, 32)), new Uint8Array(key.subarray(32))],
  );
});

Deno.test("SshEngine finds the running ciphers of ssh2 where it releases them", async () => {
  const { default: ssh2 }: { default: Ssh2Crypto } = await import("ssh2/lib/protocol/crypto.js");
  const keys = (key: string) => ({
    [`${key}Info`]: ssh2.CIPHER_INFO["aes128-ctr"],
    [`${key}Key`]: Buffer.alloc(16),
    [`${key}IV`]: Buffer.alloc(16),
    macInfo: { sslName: "sha256", len: 32, actualLen: 32, isETM: true },
    macKey: Buffer.alloc(32),
    seqno: 0,
  });
  const out = ssh2.createCipher({ outbound: { ...keys("cipher"), onWrite: () => {} } });
  const into = ssh2.createDecipher({ inbound: { ...keys("decipher"), onPayload: () => {} } });
  assert.equal(typeof out._cipherInstance?.final, "function");
  assert.equal(typeof into._decipherInstance?.final, "function");
  out._cipherInstance?.final();
  into._decipherInstance?.final();
});

Deno.test("SshEngine finds the fields of ssh2's Protocol that its own messages need", async () => {
  const { Protocol } = await loadSsh2();
  const protocol = new Protocol({ onWrite: () => {}, onError: () => {}, messageHandlers: {} });
  assert.deepEqual(protocol._authsQueue, []);
  assert.equal(protocol._packetRW.write.allocStart, 5);
  const packet = protocol._packetRW.write.alloc(20);
  assert.ok(packet.length >= 25);
  assert.equal(protocol._packetRW.write.finalize(packet), packet);
  assert.ok("_cipher" in protocol && "_decipher" in protocol);
  // Every sign-in uses the session id and a message of our own.
  await using ssh = await MemorySsh.open();
  assert.equal(ssh.session.isOver, false);
});

Deno.test("SshEngine offers only what Deno's crypto supports", async () => {
  const { constants } = await loadSsh2();
  for (const list of Object.values(constants)) {
    assert.ok(list.length > 1);
    assert.ok(!list.includes("ecdh-sha2-nistp521"));
  }
  assert.ok(constants.DEFAULT_CIPHER.includes("chacha20-poly1305@openssh.com"));
  const { usual, onRequest } = await SshEngine.hostKeyAlgorithms();
  assert.deepEqual(usual.slice(0, 2), ["ssh-ed25519", "ecdsa-sha2-nistp256"]);
  assert.ok(!usual.includes("ssh-rsa") && onRequest.includes("ssh-rsa"));
  assert.equal(await SshEngine.unknownAlgorithms({ ciphers: ["none-such", "aes128-ctr"] }), undefined);
  assert.equal(await SshEngine.unknownAlgorithms({ ciphers: ["none-such"] }), "Ciphers");
});
