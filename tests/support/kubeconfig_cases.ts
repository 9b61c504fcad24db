import { kubeconfigOf } from "./kube_world.ts";

// Kubeconfigs as text: the tests of our reader define their meaning, and other tests compare another reader
// with ours.

const sharing = Array.from({ length: 300 }, (_, index) => `- { name: u${index}, user: *user }\n`).join("");

/** Valid kubeconfigs. */
export const kubeconfigs = {
  handwritten: `
apiVersion: v1
kind: Config
current-context: lab
preferences: {}
clusters:
- name: c
  cluster:
    server: https://[fd00::1]:6443/prefix
    certificate-authority: pki/ca.crt
    tls-server-name: api.example.net
    proxy-url: socks5://127.0.0.1:12000
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: { audience: lab }
contexts:
- name: lab
  context: { cluster: c, user: u, namespace: shop }
users:
- name: u
  user:
    tokenFile: ../token
    as: boss
    as-groups: [a, b]
    as-user-extra: { reason: [one, two] }
`,
  merged: `
clusters:
- name: base
  cluster: &base { server: https://one.example.net, insecure-skip-tls-verify: true }
- name: c
  cluster: { <<: *base, server: https://two.example.net }
contexts:
- name: lab
  context: { cluster: base, cluster: c, user: v }
users:
- name: u
  user: &user
    token: secret
- name: v
  user:
    <<: *user
`,
  nameless: `
clusters:
- cluster: { server: https://unnamed.example.net }
- { name: c, cluster: { server: https://one.example.net } }
contexts:
-
- { name: lab, context: { cluster: c, user: u } }
users:
- { name: null, user: { token: unused } }
- name: u
  user:
`,
  shared: `
x-user: &user { token: secret }
clusters:
- { name: c, cluster: { server: https://one.example.net } }
contexts:
- { name: lab, context: { cluster: c, user: u299 } }
users:
${sharing}`,
  dataAndFiles: kubeconfigOf({
    cluster: { "certificate-authority": "/ca", "certificate-authority-data": btoa("PEM") },
    user: {
      "client-certificate": "/c",
      "client-certificate-data": btoa("CERT"),
      "client-key": "key.pem",
    },
  }),
} as const;

/** Invalid kubeconfigs, with our reader's problems. */
export const refusedKubeconfigs: readonly {
  name: string;
  text: string;
  context?: string;
  message: RegExp;
}[] = [
  { name: "a document that is not a mapping", text: "[]", message: /it is not a mapping$/ },
  {
    name: "a text that is not YAML",
    text: "a: [",
    message: /^Cannot use the kubeconfig "\/home\/me\/.kube\/config": /,
  },
  { name: "an alias without an anchor", text: "a: *b", message: /Unresolved alias/ },
  { name: "contexts that are not a list", text: "contexts: 1", message: /its contexts are not a list/ },
  {
    name: "a context whose name is not a string",
    text: "contexts: [{ name: 1 }]",
    message: /one of its contexts has no name/,
  },
  { name: "an unknown context", text: kubeconfigOf({}), context: "x", message: /has no such context/ },
  {
    name: "an unknown cluster",
    text: kubeconfigOf({ context: { cluster: "y" } }),
    message: /names the cluster "y", which does not exist/,
  },
  {
    name: "an unknown user",
    text: kubeconfigOf({ context: { user: "y" } }),
    message: /names the user "y", which does not exist/,
  },
  {
    name: "a server that is not a URL",
    text: kubeconfigOf({ server: "ftp://x" }),
    message: /not a URL that begins/,
  },
  {
    name: "a proxy that is not a URL",
    text: kubeconfigOf({ cluster: { "proxy-url": "ftp://x" } }),
    message: /proxy-url of the cluster "c"/,
  },
  {
    name: "an authority with insecure-skip-tls-verify",
    text: kubeconfigOf({ cluster: { "certificate-authority": "a", "insecure-skip-tls-verify": true } }),
    message: /has both a certificate authority and insecure-skip-tls-verify/,
  },
  {
    name: "a certificate without a key",
    text: kubeconfigOf({ user: { "client-certificate": "a" } }),
    message: /only one of client-certificate and client-key/,
  },
  {
    name: "data that is not base64",
    text: kubeconfigOf({ user: { "client-certificate-data": "!!", "client-key": "k" } }),
    message: /client-certificate-data is not base64/,
  },
  {
    name: "an auth-provider",
    text: kubeconfigOf({ user: { "auth-provider": { name: "gcp" } } }),
    message: /has an auth-provider/,
  },
  {
    name: "a plugin of an old version",
    text: kubeconfigOf({
      user: { exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } },
    }),
    message: /the apiVersion of exec is neither/,
  },
  {
    name: "a plugin of v1 without interactiveMode",
    text: kubeconfigOf({ user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "x" } } }),
    message: /interactiveMode of exec must be/,
  },
  {
    name: "groups without a user",
    text: kubeconfigOf({ user: { "as-groups": ["a"] } }),
    message: /require as$/,
  },
];
