import assert from "node:assert/strict";
import { readAuthInfo } from "../../../../src/kube/mod.ts";

const allowExec = ["kubectl", "kubelogin", "kubectl-oidc_login", "oc", "own-login"];
const v1 = "client.authentication.k8s.io/v1";
const login = {
  apiVersion: v1,
  command: "kubelogin",
  args: ["get-token", "--oidc-issuer-url=https://dex.example"],
};
const certificate = btoa("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
const key = btoa("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n");

const good: readonly { name: string; fact: unknown; isSecret: boolean }[] = [
  { name: "an exec", fact: { exec: login }, isSecret: false },
  { name: "JSON in a text", fact: JSON.stringify({ exec: login }), isSecret: false },
  {
    name: "a complete exec",
    fact: {
      exec: {
        ...login,
        apiVersion: `${v1}beta1`,
        env: [{ name: "KLOGIN_LEVEL", value: "1" }],
        installHint: "install it",
        provideClusterInfo: true,
        interactiveMode: "Never",
      },
    },
    isSecret: true,
  },
  {
    name: "a client secret among the arguments",
    fact: { exec: { ...login, args: ["get-token", "--oidc-client-secret=x"] } },
    isSecret: true,
  },
  {
    name: "kubectl as the plugin",
    fact: { exec: { ...login, command: "kubectl", args: ["oidc-login", "get-token", "--oidc-client-id=a"] } },
    isSecret: false,
  },
  {
    name: "options in two words, and several addresses",
    fact: {
      exec: {
        ...login,
        args: [
          ...["get-token", "--oidc-issuer-url", "https://dex.example", "--oidc-use-access-token"],
          ...["--listen-address", "127.0.0.1:8000,localhost:18000", "--skip-open-browser"],
        ],
      },
    },
    isSecret: false,
  },
  {
    name: "a program that the configuration allows",
    fact: { exec: { apiVersion: v1, command: "own-login", args: ["anything"] } },
    isSecret: false,
  },
  { name: "a token", fact: { token: "abc.def" }, isSecret: true },
  { name: "a name and a password", fact: { username: "me", password: "a b" }, isSecret: true },
  {
    name: "a client certificate",
    fact: { "client-certificate-data": certificate, "client-key-data": key },
    isSecret: true,
  },
  {
    name: "impersonation",
    fact: { exec: login, as: "admin", "as-uid": "1", "as-groups": ["a"], "as-user-extra": { k: ["v"] } },
    isSecret: false,
  },
];
for (const { name, fact, isSecret } of good) {
  Deno.test(`readAuthInfo() accepts ${name}`, () => {
    const read = readAuthInfo(fact, { allowExec });
    assert.ok("user" in read, JSON.stringify(read));
    assert.equal(read.isSecret, isSecret);
    const written = typeof fact === "string" ? JSON.parse(fact) : fact;
    const isSilent = written.exec?.apiVersion === v1 && written.exec.interactiveMode === undefined;
    const exec = { ...written.exec, interactiveMode: "IfAvailable" };
    // kubectl requires this field, so it is added.
    assert.deepEqual(read.user, isSilent ? { ...written, exec } : written);
  });
}

const bad: readonly { name: string; fact: unknown; problem: RegExp }[] = [
  { name: "text that is not JSON", fact: "token: s3cret", problem: /^it is not JSON$/ },
  { name: "a list", fact: [], problem: /^it must be/ },
  { name: "nothing", fact: {}, problem: /neither exec, token/ },
  { name: "a file", fact: { tokenFile: "/etc/passwd" }, problem: /tokenFile/ },
  {
    name: "a certificate file",
    fact: { "client-certificate": "/x", token: "a" },
    problem: /client-certificate/,
  },
  {
    name: "an auth provider",
    fact: { "auth-provider": { name: "gcp" }, token: "a" },
    problem: /auth-provider/,
  },
  {
    name: "a token of two lines",
    fact: { token: "s3cret\r\nX: y" },
    problem: /^token must be a single ASCII word/,
  },
  { name: "a number for a token", fact: { token: 5 }, problem: /^token must/ },
  {
    name: "an invalid private key",
    fact: { "client-key-data": btoa("s3cret") },
    problem: /^client-key-data must/,
  },
  {
    name: "a shell",
    fact: { exec: { ...login, command: "sh" } },
    problem: /"sh", which is not in allowExec/,
  },
  { name: "a path", fact: { exec: { ...login, command: "/tmp/kubelogin" } }, problem: /without a path/ },
  { name: "a relative path", fact: { exec: { ...login, command: "./oc" } }, problem: /without a path/ },
  {
    name: "a command with arguments",
    fact: { exec: { ...login, command: "oc x" } },
    problem: /without a path/,
  },
  { name: "an old API", fact: { exec: { ...login, apiVersion: "v1" } }, problem: /^exec\.apiVersion must/ },
  { name: "an unknown field", fact: { exec: { ...login, stdin: true } }, problem: /exec\.stdin/ },
  {
    name: "another subcommand of kubectl",
    fact: { exec: { ...login, command: "kubectl", args: ["delete", "ns", "default"] } },
    problem: /may only sign in with kubectl/,
  },
  {
    name: "any program as the browser",
    fact: { exec: { ...login, args: ["get-token", "--browser-command=/tmp/x"] } },
    problem: /must not contain --browser-command$/,
  },
  {
    name: "another kubeconfig",
    fact: { exec: { ...login, command: "kubectl", args: ["oidc-login", "get-token", "--kubeconfig", "x"] } },
    problem: /must not contain --kubeconfig$/,
  },
  ...[
    "--log_file=/home/me/.bashrc",
    "--log_dir=/home/me",
    "--token-cache-dir=/home/me",
    "--certificate-authority=/etc/passwd",
    "--local-server-key=/home/me/.ssh/id_ed25519",
    "--open-url-after-authentication=file:///tmp/x",
    "--insecure-skip-tls-verify",
    "-v=9",
  ].map((option) => ({
    name: `the option ${option}`,
    fact: { exec: { ...login, args: ["get-token", "--oidc-client-id=a", option] } },
    problem: new RegExp(`must not contain ${option.replace(/=.*/, "")}$`),
  })),
  {
    name: "an option in two words",
    fact: { exec: { ...login, args: ["get-token", "--oidc-client-id", "--log_file", "/home/me/.bashrc"] } },
    problem: /must not contain --log_file$/,
  },
  {
    name: "a word that is not an option",
    fact: { exec: { ...login, args: ["get-token", "--oidc-client-id", "a", "more"] } },
    problem: /only options/,
  },
  {
    name: "a callback address that is reachable from other machines",
    fact: { exec: { ...login, args: ["get-token", "--listen-address", "0.0.0.0:8000"] } },
    problem: /--listen-address to this value$/,
  },
  {
    name: "a callback on any address",
    fact: { exec: { ...login, args: ["get-token", "--listen-address=:8000"] } },
    problem: /--listen-address to this value$/,
  },
  {
    name: "an issuer in the clear",
    fact: { exec: { ...login, args: ["get-token", "--oidc-issuer-url=http://dex.example"] } },
    problem: /--oidc-issuer-url to this value$/,
  },
  {
    name: "another option of oc",
    fact: { exec: { ...login, command: "oc", args: ["get-token", "--server=https://x"] } },
    problem: /must not contain --server$/,
  },
  {
    name: "a log file of an unknown program",
    fact: { exec: { apiVersion: v1, command: "own-login", args: ["--log-file=/x"] } },
    problem: /must not contain --log-file$/,
  },
  {
    name: "a control character",
    fact: { exec: { ...login, installHint: "\x1b[2J" } },
    problem: /installHint must/,
  },
  ...[
    "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES",
    "PATH",
    "Path",
    "HTTPS_PROXY",
    "https_proxy",
    "BROWSER",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "BASH_ENV",
    "KUBECONFIG",
    "SSL_CERT_FILE",
    "GODEBUG",
    "HOME",
    "GIT_SSH_COMMAND",
  ].map((variable) => ({
    name: `the variable ${variable}`,
    fact: { exec: { ...login, env: [{ name: variable, value: "s3cret" }] } },
    problem: /^exec\.env\[0\]\.name must not change which code/,
  })),
];
for (const { name, fact, problem } of bad) {
  Deno.test(`readAuthInfo() refuses ${name}`, () => {
    const read = readAuthInfo(fact, { allowExec });
    assert.ok("problems" in read, name);
    assert.ok(read.problems.some((text) => problem.test(text)), read.problems.join("; "));
    assert.doesNotMatch(read.problems.join(), /s3cret/);
  });
}
