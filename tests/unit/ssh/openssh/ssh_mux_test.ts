import assert from "node:assert/strict";
import {
  decodeSshMuxAnswer,
  encodeSshMuxHello,
  encodeSshMuxRequest,
  sshMuxTypes,
} from "../../../../src/ssh/openssh/ssh_mux.ts";
import {
  readSshPackets,
  sshMessages,
  sshPacketHead,
  sshPacketSize,
} from "../../../../src/ssh/openssh/ssh_packets.ts";

const hex = (text: string) => Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (pair) => parseInt(pair, 16));

Deno.test("encodeSshMuxHello() and encodeSshMuxRequest() write messages that a master reads", () => {
  assert.deepEqual(encodeSshMuxHello(), hex("00000008 00000001 00000004"));
  assert.deepEqual(encodeSshMuxRequest("proxy"), hex("00000008 1000000f 00000000"));
  assert.deepEqual(encodeSshMuxRequest("terminate"), hex("00000008 10000005 00000000"));
});

const answers = [
  { name: "a hello", bytes: "00000008 00000001 00000004", answer: { type: sshMuxTypes.hello } },
  { name: "a proxy", bytes: "00000008 8000000f 00000000", answer: { type: sshMuxTypes.proxying } },
  {
    name: "a refusal",
    bytes: "0000000e 80000003 00000000 00000002 6e6f",
    answer: { type: sshMuxTypes.failure, reason: "no" },
  },
];
for (const { name, bytes, answer } of answers) {
  Deno.test(`decodeSshMuxAnswer() reads ${name}, and needs more at every cut`, () => {
    const whole = hex(bytes);
    assert.deepEqual(decodeSshMuxAnswer(whole), { value: answer, used: whole.length });
    for (let cut = 0; cut < whole.length; cut++) {
      assert.equal(decodeSshMuxAnswer(whole.subarray(0, cut)), undefined);
    }
  });
}

Deno.test("decodeSshMuxAnswer() rejects lengths that no master sends", () => {
  for (const bytes of ["00000003 00000001", "7fffffff 00000001"]) {
    assert.throws(() => decodeSshMuxAnswer(hex(bytes)), { code: "protocol" });
  }
});

Deno.test("readSshPackets() returns complete messages and leaves the rest, at every cut", () => {
  const first = sshPacketHead(sshMessages.data, [7, 3], 3);
  const bytes = new Uint8Array([...first, 1, 2, 3, ...sshPacketHead(sshMessages.close, [7])]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const seen: [number, number[]][] = [];
    const onPacket = (type: number, payload: Uint8Array) => void seen.push([type, [...payload]]);
    const used = readSshPackets(bytes.subarray(0, cut), onPacket);
    readSshPackets(bytes.subarray(used), onPacket);
    assert.deepEqual(seen, [
      [sshMessages.data, [0, 0, 0, 7, 0, 0, 0, 3, 1, 2, 3]],
      [sshMessages.close, [0, 0, 0, 7]],
    ]);
  }
  assert.equal(sshPacketSize(bytes), first.length + 3);
  assert.equal(sshPacketSize(bytes.subarray(0, 3)), undefined);
});

Deno.test("readSshPackets() removes padding and rejects invalid lengths", () => {
  const seen: number[] = [];
  readSshPackets(hex("00000006 02 60 0102 0000"), (_, payload) => seen.push(...payload));
  assert.deepEqual(seen, [1, 2]);
  for (const bytes of ["00000001 00 60", "00100000 00 60", "00000003 02 60 00"]) {
    assert.throws(() => readSshPackets(hex(bytes), () => {}), { code: "protocol" });
  }
});
