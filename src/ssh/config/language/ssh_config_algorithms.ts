import { matchesSshPattern } from "./ssh_config_pattern.ts";

/** The options that take a list of algorithms. */
export type SshAlgorithmOption =
  | "hostkeyalgorithms"
  | "ciphers"
  | "macs"
  | "kexalgorithms"
  | "pubkeyacceptedalgorithms"
  | "casignaturealgorithms";

interface Algorithms {
  /** The list that `+`, `-` and `^` modify, in OpenSSH's order of preference. */
  readonly preferred: readonly string[];
  /** The names that a wildcard may match. */
  readonly all: readonly string[];
}

const curves = ["nistp256", "nistp384", "nistp521"];
const openssh = (name: string) => `${name}@openssh.com`;

const certificates = [
  ...["ssh-ed25519", ...curves.map((curve) => `ecdsa-sha2-${curve}`), "sk-ssh-ed25519"],
  ...["sk-ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256"],
].map((name) => openssh(`${name}-cert-v01`));
const plainKeys = [
  "ssh-ed25519",
  ...curves.map((curve) => `ecdsa-sha2-${curve}`),
  ...["sk-ssh-ed25519", "sk-ecdsa-sha2-nistp256"].map(openssh),
  ...["rsa-sha2-512", "rsa-sha2-256"],
];
const withCertificate = (name: string) => [name, openssh(`${name}-cert-v01`)];
const signatures: Algorithms = {
  preferred: [...certificates, ...plainKeys],
  all: [
    ...withCertificate("ssh-ed25519"),
    ...["sk-ssh-ed25519", "sk-ssh-ed25519-cert-v01"].map(openssh),
    ...curves.flatMap((curve) => withCertificate(`ecdsa-sha2-${curve}`)),
    ...["", "-cert-v01"].map((end) => openssh(`sk-ecdsa-sha2-nistp256${end}`)),
    openssh("webauthn-sk-ecdsa-sha2-nistp256"),
    ...["ssh-dss", "ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"].flatMap(withCertificate),
  ],
};

const aes = (mode: string) => ["128", "192", "256"].map((bits) => `aes${bits}-${mode}`);
const gcm = ["128", "256"].map((bits) => openssh(`aes${bits}-gcm`));
const chacha = openssh("chacha20-poly1305");
const strongMacs = ["hmac-sha2-256", "hmac-sha2-512"];
const umacs = ["umac-64", "umac-128"];
const allHmacs = ["hmac-sha1", "hmac-sha1-96", ...strongMacs, "hmac-md5", "hmac-md5-96"];
const etm = (name: string) => openssh(`${name}-etm`);
const ecdh = curves.map((curve) => `ecdh-sha2-${curve}`);
const curve25519 = ["curve25519-sha256", "curve25519-sha256@libssh.org"];
const sntrup = ["sntrup761x25519-sha512", openssh("sntrup761x25519-sha512")];

/** The algorithms that OpenSSH 9.2 prefers and knows. Unknown names stay as written. */
const known: Readonly<Record<SshAlgorithmOption, Algorithms>> = {
  hostkeyalgorithms: signatures,
  pubkeyacceptedalgorithms: signatures,
  casignaturealgorithms: { preferred: plainKeys, all: signatures.all },
  ciphers: {
    preferred: [chacha, ...aes("ctr"), ...gcm],
    all: ["3des-cbc", ...aes("cbc"), ...aes("ctr"), ...gcm, chacha],
  },
  macs: {
    preferred: [
      ...[...umacs, ...strongMacs, "hmac-sha1"].map(etm),
      ...umacs.map(openssh),
      ...strongMacs,
      "hmac-sha1",
    ],
    all: [...allHmacs, ...umacs.map(openssh), ...allHmacs.map(etm), ...umacs.map(etm)],
  },
  kexalgorithms: {
    preferred: [
      ...sntrup,
      ...curve25519,
      ...ecdh,
      "diffie-hellman-group-exchange-sha256",
      ...["16-sha512", "18-sha512", "14-sha256"].map((group) => `diffie-hellman-group${group}`),
    ],
    all: [
      ...["1-sha1", "14-sha1", "14-sha256", "16-sha512", "18-sha512", "-exchange-sha1", "-exchange-sha256"]
        .map((group) => `diffie-hellman-group${group}`),
      ...ecdh,
      ...curve25519,
      ...sntrup,
    ],
  },
};

/**
 * Applies a value to OpenSSH's list: `+` appends, `-` removes, `^` puts first; any other value replaces the
 * list.
 */
export function sshAlgorithms(option: SshAlgorithmOption, value: string): readonly string[] {
  const { preferred, all } = known[option];
  const change = value[0] ?? "";
  const names = (/^[-+^]/.test(value) ? value.slice(1) : value).split(",").filter((name) => name !== "");
  if (change === "-") {
    return preferred.filter((name) => !names.some((pattern) => matchesSshPattern(name, pattern)));
  }
  const listed = names.flatMap((name) =>
    /[*?]/.test(name) ? all.filter((each) => matchesSshPattern(each, name)) : [name]
  );
  const lists = change === "+" ? [preferred, listed] : change === "^" ? [listed, preferred] : [listed];
  return [...new Set(lists.flat())];
}
