/** One line of the table of how clients read NO_PROXY: D goes directly, P through the proxy. */
export interface NoProxyRow {
  readonly id: string;
  readonly list: string;
  readonly url: string;
  /** Go, curl 7.88, Deno, urllib, requests. */
  readonly verdicts: string;
  /** Where curl 8 does something else than 7.88. */
  readonly newerCurl?: "D" | "P";
}

/** Measured with the real clients; `tests/interop/no_proxy_clients_test.ts` measures again. */
export const noProxyTable: readonly NoProxyRow[] = [
  ...["localhost", "127.0.0.1", "127.5.5.5", "[::1]"].map((host) =>
    row("M01", "", `http://${host}/`, "DPPPP")
  ),
  row("M02", "example.test", "http://example.test/", "DDDDD"),
  row("M02", "example.test", "http://a.example.test/", "DDDDD"),
  row("M03", "example.test", "http://notexample.test/", "PPPPP"),
  row("M04", ".example.test", "http://example.test/", "PDDDD"),
  row("M05", ".example.test", "http://a.example.test/", "DDDDD"),
  row("M06", "*.example.test", "http://a.example.test/", "DPPPP"),
  ...["http://example.test/", "http://localhost:1/"].map((url) => row("M07", "*", url, "DDDDD")),
  // Deno takes the star for every name, but for no address.
  ...["http://10.1.2.3/", "http://[2001:db8::1]/"].map((url) => row("M07", "*", url, "DDPDD")),
  row("M08", "foo.test,*", "http://example.test/", "DPDPP"),
  row("M09", "* ", "http://example.test/", "DPDPP"),
  row("M10", "EXAMPLE.test", "http://example.test/", "DDPDD"),
  row("M11", "example.test.", "http://example.test/", "PDPPP"),
  row("M12", "example.test", "http://example.test./", "PDPPP"),
  row("M13", "example.test:8080", "http://example.test:8080/", "DPPDD"),
  row("M14", "example.test:80", "http://example.test/", "DPPPP"),
  row("M15", "10.0.0.0/8", "http://10.1.2.3/", "DDDPD"),
  row("M15", "10.0.0.5/8", "http://10.1.2.3/", "DDDPD"),
  row("M16", "10.1.2.3:81", "http://10.1.2.3:81/", "DPPDP"),
  row("M17", "0.0.0.0/0", "http://10.1.2.3/", "DPDPP"),
  row("M18", "2001:db8::/32", "http://[2001:db8::1]/", "DPDPP", "D"),
  row("M18", "fe80::/10", "http://[fe80::1]/", "DPDPP", "D"),
  row("M19", "[2001:db8::1]", "http://[2001:db8::1]/", "PPPDP"),
  row("M20", "2001:db8::1", "http://[2001:db8::1]/", "DDDPD"),
  row("M21", "::/0", "http://[2001:db8::1]/", "DPDPP"),
  row("M22", "foo.test, example.test", "http://example.test/", "DDDDD"),
  row("M23", "foo.test example.test", "http://example.test/", "PDPPP", "P"),
  row("M24", "foo.test,,example.test", "http://example.test/", "DDDDD"),
  row("M25", ".svc", "http://api.ns.svc/", "DDDDD"),
  row("M25", ".svc", "http://api.ns.svc.cluster.local/", "PPPPP"),
  row("M26", ".svc", "http://svc/", "PDDDD"),
  row("M27", "10.0.0.0/8", "http://inside.example.test/", "PPPPP"),
  row("M28", "::ffff:10.1.2.3", "http://10.1.2.3/", "DPPPP"),
  row("M29", "http://example.test/", "http://example.test/", "PPPPP"),
  ...["10.0.*", "10.", "10.0.0.1-10.0.0.9"].map((list) => row("M29", list, "http://10.0.0.3/", "PPPPP")),
  row("M29", "exa*.test", "http://example.test/", "PPPPP"),
  row("M30", "127.0.0.0/8", "http://127.5.5.5/", "DDDPD"),
];

function row(id: string, list: string, url: string, verdicts: string, newerCurl?: "D" | "P"): NoProxyRow {
  return { id, list, url, verdicts, ...(newerCurl && { newerCurl }) };
}
