/** One line of the table of how clients read NO_PROXY: D goes directly, P through the proxy. */
export interface NoProxyRow {
  readonly list: string;
  readonly url: string;
  /** Go, curl 7.88, Deno, urllib, requests. */
  readonly verdicts: string;
  /** The verdict of curl 8 if it differs from 7.88. */
  readonly newerCurl?: "D" | "P";
}

/** Tested with the real clients; `tests/interop/no_proxy_clients_test.ts` repeats the tests. */
export const noProxyTable: readonly NoProxyRow[] = [
  ...["localhost", "127.0.0.1", "127.5.5.5", "[::1]"].map((host) => row("", `http://${host}/`, "DPPPP")),
  row("example.test", "http://example.test/", "DDDDD"),
  row("example.test", "http://a.example.test/", "DDDDD"),
  row("example.test", "http://notexample.test/", "PPPPP"),
  row(".example.test", "http://example.test/", "PDDDD"),
  row(".example.test", "http://a.example.test/", "DDDDD"),
  row("*.example.test", "http://a.example.test/", "DPPPP"),
  ...["http://example.test/", "http://localhost:1/"].map((url) => row("*", url, "DDDDD")),
  // Deno applies the star to every name, but to no address.
  ...["http://10.1.2.3/", "http://[2001:db8::1]/"].map((url) => row("*", url, "DDPDD")),
  row("foo.test,*", "http://example.test/", "DPDPP"),
  row("* ", "http://example.test/", "DPDPP"),
  row("EXAMPLE.test", "http://example.test/", "DDPDD"),
  row("example.test.", "http://example.test/", "PDPPP"),
  row("example.test", "http://example.test./", "PDPPP"),
  row("example.test:8080", "http://example.test:8080/", "DPPDD"),
  row("example.test:80", "http://example.test/", "DPPPP"),
  row("10.0.0.0/8", "http://10.1.2.3/", "DDDPD"),
  row("10.0.0.5/8", "http://10.1.2.3/", "DDDPD"),
  row("10.1.2.3:81", "http://10.1.2.3:81/", "DPPDP"),
  row("0.0.0.0/0", "http://10.1.2.3/", "DPDPP"),
  row("2001:db8::/32", "http://[2001:db8::1]/", "DPDPP", "D"),
  row("fe80::/10", "http://[fe80::1]/", "DPDPP", "D"),
  row("[2001:db8::1]", "http://[2001:db8::1]/", "PPPDP"),
  row("2001:db8::1", "http://[2001:db8::1]/", "DDDPD"),
  row("::/0", "http://[2001:db8::1]/", "DPDPP"),
  row("foo.test, example.test", "http://example.test/", "DDDDD"),
  row("foo.test example.test", "http://example.test/", "PDPPP", "P"),
  row("foo.test,,example.test", "http://example.test/", "DDDDD"),
  row(".svc", "http://api.ns.svc/", "DDDDD"),
  row(".svc", "http://api.ns.svc.cluster.local/", "PPPPP"),
  row(".svc", "http://svc/", "PDDDD"),
  row("10.0.0.0/8", "http://inside.example.test/", "PPPPP"),
  row("::ffff:10.1.2.3", "http://10.1.2.3/", "DPPPP"),
  row("http://example.test/", "http://example.test/", "PPPPP"),
  ...["10.0.*", "10.", "10.0.0.1-10.0.0.9"].map((list) => row(list, "http://10.0.0.3/", "PPPPP")),
  row("exa*.test", "http://example.test/", "PPPPP"),
  row("127.0.0.0/8", "http://127.5.5.5/", "DDDPD"),
];

function row(list: string, url: string, verdicts: string, newerCurl?: "D" | "P"): NoProxyRow {
  return { list, url, verdicts, ...(newerCurl && { newerCurl }) };
}
