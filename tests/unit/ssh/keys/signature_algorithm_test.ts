import assert from "node:assert/strict";
import { signatureAlgorithm } from "../../../../src/ssh/keys/signature_algorithm.ts";

const modern = ["ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256", "ecdsa-sha2-nistp256"];
const cases: readonly {
  name: string;
  type: string;
  accepted?: readonly string[];
  server?: readonly string[];
  is: string | undefined;
}[] = [
  { name: "an ed25519 key", type: "ssh-ed25519", is: "ssh-ed25519" },
  {
    name: "an ed25519 key that is not accepted",
    type: "ssh-ed25519",
    accepted: ["rsa-sha2-*"],
    is: undefined,
  },
  { name: "an rsa key", type: "ssh-rsa", server: modern, is: "rsa-sha2-512" },
  {
    name: "an rsa key, and a server with one of the two",
    type: "ssh-rsa",
    server: ["rsa-sha2-256"],
    is: "rsa-sha2-256",
  },
  { name: "an rsa key, and a server that announces nothing", type: "ssh-rsa", is: "rsa-sha2-512" },
  { name: "an rsa key, and a server with SHA-1 only", type: "ssh-rsa", server: ["ssh-rsa"], is: undefined },
  {
    name: "an rsa key, and SHA-1 allowed by name",
    type: "ssh-rsa",
    accepted: [...modern, "ssh-rsa"],
    server: ["ssh-rsa"],
    is: "ssh-rsa",
  },
  {
    name: "an rsa key, SHA-1 allowed by name, and a server that supports better ones",
    type: "ssh-rsa",
    accepted: [...modern, "ssh-rsa"],
    server: [...modern, "ssh-rsa"],
    is: "rsa-sha2-512",
  },
  {
    name: "an rsa key, SHA-1 allowed by name, and a server that announces nothing",
    type: "ssh-rsa",
    accepted: [...modern, "ssh-rsa"],
    is: "ssh-rsa",
  },
  {
    name: "an rsa key, in the order of the configuration",
    type: "ssh-rsa",
    accepted: ["rsa-sha2-256", "rsa-sha2-512"],
    server: modern,
    is: "rsa-sha2-256",
  },
  {
    name: "a certificate of an rsa key",
    type: "ssh-rsa-cert-v01@openssh.com",
    server: modern,
    is: "rsa-sha2-512-cert-v01@openssh.com",
  },
  {
    name: "a certificate of a kind that is not accepted",
    type: "ssh-ed25519-cert-v01@openssh.com",
    accepted: ["ssh-ed25519"],
    is: undefined,
  },
  {
    name: "a certificate accepted by a pattern",
    type: "ssh-ed25519-cert-v01@openssh.com",
    accepted: ["ssh-ed25519-cert-v0?@openssh.com"],
    is: "ssh-ed25519-cert-v01@openssh.com",
  },
];
for (const { name, type, accepted, server, is } of cases) {
  Deno.test(`signatureAlgorithm() for ${name}`, () => {
    assert.equal(signatureAlgorithm(type, { accepted, server }), is);
  });
}
