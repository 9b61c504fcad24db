/** A configuration for a comparison of real ssh with our reader. */
export interface SshConfigCase {
  readonly name: string;
  /** `DIR` is the directory of the case. */
  readonly config: string;
  /** The requested host (default: `host`). */
  readonly host?: string;
  readonly user?: string;
  readonly port?: number;
  /** Other files in the directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** The jump host that our reader derives from a command. */
  readonly hop?: string;
}

/** Typical configurations, and corner cases of the format. */
export const sshConfigCases: readonly SshConfigCase[] = [
  // Common options.
  { name: "an empty file", config: "" },
  { name: "comments and blanks only", config: "# one\n\n   # two\n\t\n" },
  { name: "one host", config: "Host host\n  HostName real.example.net\n  User me\n  Port 2222\n" },
  { name: "another host's lines", config: "Host other\n  Port 2222\nHost host\n  User me\n" },
  { name: "options before any Host", config: "User all\nHost host\n  User me\n  Port 23\n" },
  { name: "first value wins", config: "Host host\n  Port 1\n  Port 2\nHost *\n  Port 3\n  User last\n" },
  {
    name: "defaults at the end",
    config: "Host host\n  User me\n\nHost *\n  User other\n  ServerAliveInterval 30\n",
  },
  { name: "the same host twice", config: "Host host\n  User a\nHost host\n  User b\n  Port 24\n" },
  { name: "several names", config: "Host one host two\n  User me\n" },
  { name: "a user beforehand", config: "Host host\n  User me\n  HostName %h.example\n", user: "asked" },
  { name: "a port beforehand", config: "Host host\n  Port 99\n", port: 4022 },
  { name: "Windows line ends", config: "Host host\r\n  User me\r\n  Port 25\r\n" },
  { name: "no line end at the end of the file", config: "Host host\n  Port 26" },
  { name: "trailing blanks and a form feed", config: "Host host \t\n  Port 27 \t\f\n" },

  // Wildcards and negation.
  { name: "a star", config: "Host ho*\n  User star\n" },
  { name: "a star in the middle", config: "Host *.a.*.net\n  User star\n", host: "x.a.b.c.net" },
  { name: "many stars", config: "Host *a*a*a*a*b\n  User star\n", host: "aaaaaaaaaaaaaaaaaaaaaaaa" },
  { name: "a question mark", config: "Host hos?\n  User q\nHost ho?\n  User no\n" },
  { name: "a negated pattern", config: "Host * !host\n  User no\nHost *\n  User yes\n" },
  { name: "a negated pattern first", config: "Host !host *\n  User no\n" },
  { name: "a negated pattern alone", config: "Host !other\n  User no\n" },
  { name: "Host is case-sensitive", config: "Host HOST\n  User no\nHost host\n  User yes\n" },
  { name: "a name in capitals", config: "Host host\n  User no\nHost HOST\n  User yes\n", host: "HOST" },
  { name: "a dot at the end", config: "Host host.\n  User dot\n", host: "host." },
  { name: "an address", config: "Host 10.*\n  User ten\n", host: "10.1.2.3" },
  { name: "an IPv6 address", config: "Host *:*\n  User six\n", host: "2001:DB8:0:0:0::0001" },

  // Spelling.
  { name: "keywords in any case", config: "hOST host\n  hostNAME a.b\n  PORT 28\n" },
  { name: "an equals sign", config: "Host=host\n  Port=29\n  User = me\n  HostName =a.b\n" },
  { name: "quotes", config: 'Host "host"\n  User "me too"\n  IdentityFile "~/my keys/id"\n' },
  { name: "single quotes", config: "Host host\n  User 'me'\n" },
  { name: "backslashes", config: "Host host\n  IdentityFile ~/my\\ keys/id\n  User a\\\\b\n" },
  { name: "a quoted keyword", config: '"Port" 30\n' },
  { name: "a comment after a value", config: "Host host # mine\n  Port 31 # the port\n" },
  { name: "a hash sign inside a word", config: "Host host\n  User me#1\n" },
  { name: "tabs", config: "Host\thost\n\tUser\tme\n" },
  { name: "an unknown option", config: "Host host\n  Hostnam a.b\n" },
  {
    name: "an ignored unknown option",
    config: "IgnoreUnknown UseKeychain,Foo*\nUseKeychain yes\nFooBar 1\nPort 32\n",
  },
  { name: "IgnoreUnknown too late", config: "Blah yes\nIgnoreUnknown Blah\n" },
  {
    name: "former names",
    config: "PubkeyAcceptedKeyTypes ssh-ed25519\nChallengeResponseAuthentication no\n",
  },
  { name: "words without meaning", config: "Protocol 2\nUseRoaming no\nRSAAuthentication no\nPort 33\n" },
  {
    name: "Debian's defaults",
    config: "Host *\n    SendEnv LANG LC_*\n    HashKnownHosts yes\n    GSSAPIAuthentication yes\n",
  },

  // Invalid configurations.
  { name: "no argument", config: "Port\n" },
  { name: "a bad port", config: "Port 70000\n" },
  { name: "port 0", config: "Port 0\n" },
  { name: "two arguments", config: "Port 1 2\n" },
  { name: "an open quote", config: 'User "me\n' },
  { name: "a bad flag", config: "IdentitiesOnly maybe\n" },
  { name: "a bad time", config: "ConnectTimeout soon\n" },
  { name: "an invalid list of jump hosts", config: "ProxyJump a,,b\n" },
  { name: "an empty argument", config: 'User ""\n' },
  { name: "none together with a file", config: "UserKnownHostsFile none /a\n" },

  // Match.
  { name: "Match all", config: "Match all\n  User all\n" },
  { name: "Match host", config: "Match host host\n  User a\nMatch host other\n  Port 1\n" },
  {
    name: "Match host sees HostName",
    config: "Host host\n  HostName real.net\nMatch host real.*\n  User real\nMatch host host\n  User no\n",
  },
  { name: "Match originalhost", config: "HostName real.net\nMatch originalhost host\n  User original\n" },
  { name: "Match host in any case", config: "Match host HOST\n  User a\n" },
  { name: "Match a list", config: "Match host a,ho*,!x\n  User a\nMatch host !host,*\n  Port 1\n" },
  {
    name: "Match user",
    config: "Host host\n  User me\nMatch user me\n  Port 34\nMatch user you\n  HostName no\n",
  },
  { name: "Match the user before it is set", config: "Match user asked\n  Port 35\n", user: "asked" },
  {
    name: "Match localuser",
    config: "Match localuser *\n  Port 36\nMatch localuser no-such-user\n  User no\n",
  },
  {
    name: "Match several",
    config: "Match host host user me\n  Port 1\nMatch host host originalhost h*\n  Port 37\n",
  },
  { name: "Match negated", config: "Match !host other\n  Port 38\nMatch !host host\n  User no\n" },
  { name: "Match exec", config: 'Match exec "true"\n  Port 39\nMatch exec "exit 3"\n  User no\n' },
  { name: "Match exec without quotes", config: "Match exec true\n  Port 40\n" },
  {
    name: "Match exec with tokens",
    config:
      'Host host\n  HostName real\n  Port 41\n  User u\nMatch exec "test %h-%n-%p-%r-%% = real-host-41-u-%%"\n  BindAddress 127.0.0.9\n',
  },
  { name: "Match exec negated", config: "Match !exec false\n  Port 42\n" },
  {
    name: "Match exec does not run for other hosts",
    config: 'Match host other exec "touch DIR/ran"\n  Port 1\n',
  },
  {
    name: "Match exec reads a file",
    config:
      'Match host host exec "grep -q office DIR/where"\n  ProxyJump none\nMatch host host\n  ProxyJump gate\n',
    files: { where: "home\n" },
  },
  {
    name: "Match final",
    config:
      "Host host\n  HostName real.net\nMatch final host real.net\n  User final\nHost real.net\n  Port 43\n",
  },
  { name: "Match canonical alone", config: "Match canonical all\n  User no\n" },
  {
    name: "Match canonical with final",
    config: "Match final all\n  Port 44\nMatch canonical all\n  User yes\n",
  },
  {
    name: "Match final adds keys once",
    config: "IdentityFile ~/a\nMatch final all\n  IdentityFile ~/b\n",
  },
  {
    name: "Match negated final",
    config: "Match !final host host\n  Port 45\nMatch final host host\n  Port 46\n",
  },
  { name: "Match with a comment", config: "Match host host # mine\n  Port 47\n" },
  { name: "Match with an equals sign", config: "Match host=host\n  Port 48\n" },
  { name: "Match all with other conditions", config: "Match host host user me all\n  Port 49\n" },
  { name: "Match without a condition", config: "Match # nothing\n  Port 1\n" },
  { name: "an unknown condition", config: "Match hostt host\n  Port 1\n" },
  { name: "a condition without an argument", config: "Match host\n  Port 1\n" },
  { name: "Match after Host", config: "Host other\n  Port 1\nMatch all\n  Port 50\n" },

  // Include.
  { name: "Include", config: "Include DIR/more\nPort 51\n", files: { more: "User more\nPort 52\n" } },
  { name: "Include of nothing", config: "Include DIR/nothing DIR/*.none\nPort 53\n" },
  {
    name: "Include with a wildcard",
    config: "Include DIR/c/*.conf\n",
    files: {
      "c/20.conf": "Port 20\nUser b\n",
      "c/10.conf": "Port 10\n",
      "c/.0.conf": "Port 5\n",
      "c/note": "Port 6\n",
    },
  },
  {
    name: "Include with ranges",
    config: "Include DIR/[b-c]?\nInclude DIR/[!b-c]?\n",
    files: { b1: "Port 54\n", c2: "User c\n", a1: "Port 1\nHostName a\n" },
  },
  {
    name: "Include of several",
    config: 'Include DIR/a "DIR/b c"\n',
    files: { a: "Port 55\n", "b c": "User b\n" },
  },
  {
    name: "Include inside a Host that applies",
    config: "Host host\n  Include DIR/more\n  User me\n",
    files: { more: "Port 56\nHost other\n  User no\n" },
  },
  {
    name: "Include inside a Host that does not",
    config: "Host other\n  Include DIR/more\nHost host\n  User me\n",
    files: { more: "Port 1\nHost host\n  Port 2\nMatch all\n  Port 3\n" },
  },
  {
    name: "options after Include apply again",
    config: "Include DIR/more\nPort 57\n",
    files: { more: "Host other\n  Port 1\n" },
  },
  {
    name: "Include in a file that is included",
    config: "Include DIR/a\n",
    files: { a: "Include DIR/b\nPort 1\n", b: "Port 58\n" },
  },
  { name: "Include of itself", config: "Include DIR/config\n" },
  {
    name: "Match final in an included file",
    config: "Include DIR/a\nHost host\n  HostName real\n",
    files: { a: "Match final host real\n  User final\n" },
  },
  { name: "an unknown option in an included file", config: "Include DIR/a\n", files: { a: "\nPorrt 1\n" } },

  // Jump hosts and proxy commands.
  { name: "ProxyJump", config: "ProxyJump gate\n" },
  { name: "ProxyJump with all parts", config: "ProxyJump me@gate.example.net:2222\n" },
  { name: "ProxyJump of several", config: "ProxyJump a,me@b:23,[2001:db8::1]:24\n" },
  { name: "ProxyJump as a URI", config: "ProxyJump ssh://me@gate:25\n" },
  { name: "ProxyJump with an at sign in the user", config: "ProxyJump me@corp@gate\n" },
  { name: "ProxyJump none", config: "Host host\n  ProxyJump none\nHost *\n  ProxyJump gate\n" },
  {
    name: "ProxyJump none before ProxyCommand",
    config: "ProxyJump none\nProxyJump gate\nProxyCommand x %h\n",
  },
  { name: "ProxyJump with tokens", config: "Port 77\nProxyJump %r@gate-%h:2022\n" },
  { name: "ProxyJump before ProxyCommand", config: "ProxyJump gate\nProxyCommand nc %h %p\n" },
  { name: "ProxyCommand before ProxyJump", config: "ProxyCommand nc %h %p\nProxyJump gate\n" },
  { name: "ProxyCommand none before ProxyJump", config: "ProxyCommand none\nProxyJump gate\n" },
  { name: "ProxyCommand", config: "HostName real\nProxyCommand nc -X connect -x proxy:3128 %h %p\n" },
  { name: "ProxyCommand with an equals sign", config: "ProxyCommand = nc %h %p # not a comment\n" },
  {
    name: "ProxyCommand with all tokens",
    config: "User me\nHostKeyAlias key\nProxyCommand x %h %p %r %n %% %k\n",
  },
  { name: "ProxyCommand ssh -W", config: "ProxyCommand ssh -q -W %h:%p -- gate\n", hop: "gate" },
  { name: "ProxyCommand with an open quote", config: 'ProxyCommand sh -c "x\n' },
  { name: "ProxyUseFdpass without a command", config: "ProxyUseFdpass yes\n" },

  // Keys and agents.
  {
    name: "several keys",
    config: "IdentityFile ~/.ssh/a\nHost host\n  IdentityFile ~/.ssh/b\n  IdentityFile ~/.ssh/a\n",
  },
  {
    name: "keys with tokens",
    config: "Host host\n  HostName real\n  User u\n  IdentityFile ~/%h/%n/%r/%u/%p/%%\n",
  },
  { name: "keys with a variable", config: "IdentityFile ${HOME}/keys/id\n" },
  { name: "no keys", config: "IdentityFile none\n" },
  { name: "certificates", config: "CertificateFile ~/c-%u\nCertificateFile /etc/c2\n" },
  { name: "IdentitiesOnly", config: "IdentitiesOnly yes\n" },
  { name: "IdentitiesOnly true", config: "IdentitiesOnly TRUE\n" },
  { name: "an agent's path", config: "IdentityAgent ~/agents/%h-%d\n" },
  { name: "no agent", config: "IdentityAgent none\n" },
  { name: "the usual agent", config: "IdentityAgent SSH_AUTH_SOCK\n" },
  { name: "an agent in a variable", config: "IdentityAgent $OTHER_AGENT\n" },
  { name: "an agent in an expanded variable", config: "IdentityAgent ${HOME}/a\n" },
  { name: "an agent in a missing variable", config: "IdentityAgent ${NO_SUCH_THING}/a\n" },
  {
    name: "authentication methods",
    config:
      "PreferredAuthentications publickey,keyboard-interactive\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n",
  },
  { name: "PubkeyAuthentication no", config: "PubkeyAuthentication no\n" },
  { name: "PubkeyAuthentication unbound", config: "PubkeyAuthentication unbound\n" },

  // Host keys.
  { name: "known hosts", config: "UserKnownHostsFile ~/kh /etc/kh2\nGlobalKnownHostsFile /etc/g1 /etc/g2\n" },
  { name: "known hosts with tokens", config: "UserKnownHostsFile ~/kh/%h-%n-%l-%L-%u-%r-%p-%k-%i\n" },
  { name: "no known hosts", config: "UserKnownHostsFile none\nGlobalKnownHostsFile none\n" },
  { name: "StrictHostKeyChecking yes", config: "StrictHostKeyChecking yes\n" },
  { name: "StrictHostKeyChecking ask", config: "StrictHostKeyChecking ask\n" },
  { name: "StrictHostKeyChecking accept-new", config: "StrictHostKeyChecking accept-new\n" },
  { name: "StrictHostKeyChecking no", config: "StrictHostKeyChecking no\n" },
  { name: "StrictHostKeyChecking off", config: "StrictHostKeyChecking off\n" },
  { name: "HostKeyAlias", config: "HostKeyAlias Other.Name\nUserKnownHostsFile /kh/%k\n" },
  { name: "HashKnownHosts", config: "HashKnownHosts yes\n" },

  // Algorithms.
  {
    name: "algorithms replaced",
    config:
      "Ciphers aes256-ctr,aes128-ctr\nMACs hmac-sha2-256\nKexAlgorithms curve25519-sha256\nHostKeyAlgorithms ssh-ed25519\n",
  },
  {
    name: "algorithms added",
    config:
      "Ciphers +aes128-cbc,aes256-ctr\nMACs +hmac-md5\nKexAlgorithms +diffie-hellman-group1-sha1\nHostKeyAlgorithms +ssh-rsa\nPubkeyAcceptedAlgorithms +ssh-rsa\n",
  },
  {
    name: "removed algorithms",
    config: "Ciphers -aes*-ctr\nMACs -*sha1*\nKexAlgorithms -ecdh-*\nHostKeyAlgorithms -*cert*,rsa*\n",
  },
  {
    name: "preferred algorithms",
    config:
      "Ciphers ^aes256-gcm@openssh.com\nMACs ^hmac-sha1\nKexAlgorithms ^ecdh-sha2-nistp256\nHostKeyAlgorithms ^rsa-sha2-512\n",
  },
  {
    name: "algorithms by wildcard",
    config:
      "HostKeyAlgorithms ssh-*,ecdsa*\nPubkeyAcceptedAlgorithms ^rsa-sha2-*\nCASignatureAlgorithms -ecdsa*\n",
  },
  {
    name: "what Fedora sets",
    config:
      "CASignatureAlgorithms ecdsa-sha2-nistp256,ssh-ed25519\nRequiredRSASize 2048\nPubkeyAcceptedAlgorithms ssh-ed25519,rsa-sha2-256\nKexAlgorithms curve25519-sha256,ecdh-sha2-nistp256\n",
  },

  // Times and addresses.
  { name: "ConnectTimeout", config: "ConnectTimeout 10\n" },
  { name: "ConnectTimeout in parts", config: "ConnectTimeout 1m30s\n" },
  { name: "ConnectTimeout none", config: "ConnectTimeout none\n" },
  {
    name: "a time after none",
    config: "ConnectTimeout none\nConnectTimeout 5\nServerAliveCountMax 0\nServerAliveCountMax 7\n",
  },
  { name: "a negative number", config: "ServerAliveCountMax -1\n" },
  { name: "two equals signs", config: "User==me\nHostName= =a.b\n" },
  { name: "two equals signs after a blank", config: "User ==me\n" },
  { name: "16 nested files", config: "Include DIR/1\n", files: chain(16) },
  { name: "17 nested files", config: "Include DIR/1\n", files: chain(17) },
  { name: "server alive", config: "ServerAliveInterval 15\nServerAliveCountMax 4\n" },
  { name: "ServerAliveInterval in minutes", config: "ServerAliveInterval 2m\n" },
  { name: "AddressFamily", config: "AddressFamily inet6\n" },
  { name: "AddressFamily in capitals", config: "AddressFamily INET\n" },
  { name: "BindAddress", config: "BindAddress 127.0.0.2\n" },
  { name: "RevokedHostKeys none", config: "RevokedHostKeys none\nPort 34\n" },
  { name: "BatchMode", config: "BatchMode yes\nServerAliveInterval 9\n" },
  { name: "HostName with tokens", config: "HostName %h.example.%%net\n" },
  { name: "HostName in capitals", config: "HostName REAL.Example.NET\n" },
  { name: "HostName with an unknown token", config: "HostName %h.%d\n" },
  { name: "HostName that is an IPv6 address", config: "HostName 2001:DB8::0:1\n" },
];

/** Returns files named by numbers, each of which includes the next. */
function chain(length: number): Record<string, string> {
  const numbers = Array.from({ length }, (_, index) => index + 1);
  return Object.fromEntries(numbers.map((number) => [
    String(number),
    number < length ? `Include DIR/${number + 1}\n` : "Port 59\n",
  ]));
}
