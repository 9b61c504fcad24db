/** Returns a generator of numbers from 0 to below 1 from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const sections = [
  ...["Host host", "Host *", "Host h*t other", "Host * !host", "Host other", "Host real.net", "Host=host"],
  ...["Match all", "Match host host", "Match host real.*", "Match originalhost h?st", "Match user me,you"],
  ...[
    "Match !user me",
    "Match final all",
    "Match final host real.net",
    "Match canonical all",
    "Match localuser *",
  ],
  ...[
    'Match exec "true"',
    'Match host host exec "test %h = host"',
    "Match !exec false user me",
    "Match host *,!host",
  ],
  ...["Match !final all", "Match all # all"],
];

const options = [
  ...[
    "HostName real.net",
    "HostName %h.net",
    "HostName Real.NET",
    "User me",
    "User you",
    'User "me"',
    "Port 22",
  ],
  ...["Port 2222", "port=23", "ProxyJump gate", "ProxyJump a,me@b:22", "ProxyJump none", "ProxyCommand none"],
  ...[
    "ProxyCommand nc %h %p",
    "ProxyCommand x %r # %n",
    "IdentityFile ~/.ssh/a",
    "IdentityFile ~/%h",
    "Port 24",
  ],
  ...[
    "IdentityFile none",
    "CertificateFile ~/c",
    "IdentitiesOnly yes",
    "IdentitiesOnly no",
    "IdentityAgent none",
  ],
  ...[
    "IdentityAgent ~/agent",
    "IdentityAgent SSH_AUTH_SOCK",
    "UserKnownHostsFile ~/a /b",
    "HostKeyAlias Key",
  ],
  ...["UserKnownHostsFile ~/%k-%n-%h", "GlobalKnownHostsFile none", "StrictHostKeyChecking accept-new"],
  ...["StrictHostKeyChecking ask", "StrictHostKeyChecking off", "HashKnownHosts yes", "Ciphers +aes128-cbc"],
  ...[
    "Ciphers aes256-ctr",
    "MACs -hmac-sha1*",
    "KexAlgorithms ^ecdh-sha2-nistp256",
    "HostKeyAlgorithms +ssh-rsa",
  ],
  ...["PubkeyAcceptedAlgorithms ssh-*", "ConnectTimeout 1m", "ConnectTimeout none", "ServerAliveInterval 5"],
  ...["ServerAliveCountMax 2", "AddressFamily inet", "BindAddress ::1", "BatchMode yes", "ForwardAgent yes"],
  ...[
    "PreferredAuthentications publickey",
    "PasswordAuthentication no",
    "PubkeyAuthentication no",
    "# nothing",
  ],
  ...["Compression yes", "SendEnv LANG", "RequiredRSASize 2048", ""],
];

/** ssh refuses the whole file for a mistake, postern only where it applies; so these lines come first. */
const beginnings = [
  ...[
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "IgnoreUnknown Foo*,B?r\nFooBar yes\nBar 1",
    "Porrt 1",
    "Port x",
  ],
  ...['User "', "Match user", "Match hostt a", "ProxyJump ,", "IdentitiesOnly x", "ConnectTimeout 1y"],
];

/** Generates a configuration from typical lines. */
export function randomSshConfig(random: () => number): string {
  const pick = (lines: readonly string[]) => lines[Math.floor(random() * lines.length)] ?? "";
  const lines = Array.from(
    { length: 2 + Math.floor(random() * 14) },
    () =>
      random() < 0.35
        ? pick(sections)
        : `${pick(["", "  ", "\t"])}${pick(options)}${pick(["", "", " ", "\r"])}`,
  );
  return `${[pick(beginnings), ...lines].join("\n")}\n`;
}
