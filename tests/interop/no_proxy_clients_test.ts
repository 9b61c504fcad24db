import assert from "node:assert/strict";
import { namespaceTest } from "../support/namespaces.ts";
import { noProxyTable } from "../support/no_proxy_table.ts";
import { runPeer } from "../support/peer_program.ts";
import { findPeer, skippedTest } from "../support/peers.ts";

// The table of how clients read NO_PROXY, measured with the clients themselves. The table's names and
// addresses must be unreachable, so the test runs in a network namespace with only loopback: direct requests
// fail there, requests through the proxy succeed.

/** Starts a proxy that answers all requests itself, and sends each client each URL from stdin. */
const harness = `
import http.server, fcntl, json, os, socket, struct, subprocess, sys, threading
import urllib.request, requests

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running

class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"via")
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
threading.Thread(target=server.serve_forever, daemon=True).start()
curl, deno, script = sys.argv[1:4]
rows = json.load(sys.stdin)
os.environ["http_proxy"] = f"http://127.0.0.1:{server.server_port}"

def by_urllib(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler())
    return opener.open(url, timeout=10).read() == b"via"

def by_requests(url):
    return requests.get(url, timeout=10).content == b"via"

def by_curl(url):
    return subprocess.run([curl, "-s", "-m", "10", url], capture_output=True).stdout == b"via"

def through(client, url):
    try:
        return "P" if client(url) else "D"
    except OSError:  # requests' errors are such too
        return "D"

def by_deno(urls):
    done = subprocess.run([deno, "run", "--no-prompt", "--allow-net", "--allow-env", "--no-config", script, *urls],
                          capture_output=True, text=True, check=True)
    return done.stdout.split()

lists = {}
for row in rows:
    lists.setdefault(row["list"], []).append(row)
for list_, some in lists.items():
    os.environ["no_proxy"] = list_
    for row, deno_says in zip(some, by_deno([row["url"] for row in some]), strict=True):
        row["measured"] = [through(by_curl, row["url"]), deno_says,
                           through(by_urllib, row["url"]), through(by_requests, row["url"])]
version = subprocess.run([curl, "--version"], capture_output=True, text=True).stdout.split()[1]
print(json.dumps({"rows": rows, "curl": version, "requests": requests.__version__}))
`;

const denoScript = `
for (const url of Deno.args) {
  try {
    console.log(await (await fetch(url)).text() === "via" ? "P" : "D");
  } catch {
    console.log("D");
  }
}
`;

interface Measured {
  readonly curl: string;
  readonly requests: string;
  readonly rows: readonly ((typeof noProxyTable)[number] & { readonly measured: readonly string[] })[];
}

const name = "curl, Deno, urllib and requests read NO_PROXY as table M says";
const [python, curl] = [findPeer("python"), findPeer("curl")];
if ("missing" in python) skippedTest(name, python.missing);
else if ("missing" in curl) skippedTest(name, curl.missing);
else namespaceTest(name, "--net", (wrap) => measure(wrap, python.path, curl.path));

async function measure(
  wrap: (script?: string) => readonly string[],
  python: string,
  curl: string,
): Promise<void> {
  const script = await Deno.makeTempFile({ prefix: "no-proxy-", suffix: ".ts" });
  try {
    await Deno.writeTextFile(script, denoScript);
    const [program = "", ...args] = [...wrap(), python, "-c", harness, curl, Deno.execPath(), script];
    const env = { HOME: Deno.env.get("TMPDIR") ?? "/tmp", NO_COLOR: "1" };
    const { code, stdout, stderr } = await runPeer(program, args, {
      stdin: JSON.stringify(noProxyTable),
      env,
    });
    assert.equal(code, 0, stderr);
    const { rows, ...versions } = JSON.parse(stdout) as Measured;
    assert.equal(rows.length, noProxyTable.length);
    const different = rows.flatMap((row) => {
      const expected = expectedOf(row, versions);
      const measured = row.measured.join("");
      return measured === expected ? [] : [`${row.list} ${row.url}: ${measured}, not ${expected}`];
    });
    assert.deepEqual(different, [], JSON.stringify(versions));
  } finally {
    await Deno.remove(script);
  }
}

/** The columns of curl, Deno, urllib and requests for these versions. */
function expectedOf(
  { url, verdicts, newerCurl }: (typeof noProxyTable)[number],
  versions: { readonly curl: string; readonly requests: string },
): string {
  const [, old = "", deno = "", urllib = "", requests = ""] = verdicts;
  const isNewer = Number(versions.curl.split(".")[0]) >= 8;
  // Before 2.34, requests matched a name as a suffix of any text.
  const isPlainSuffix = /^2\.(?:[0-2][0-9]|3[0-3])\./.test(versions.requests) &&
    url === "http://notexample.test/";
  return `${isNewer ? newerCurl ?? old : old}${deno}${urllib}${isPlainSuffix ? "D" : requests}`;
}
