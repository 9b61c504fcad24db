import assert from "node:assert/strict";
import { farSide } from "../support/far_side.ts";
import { freePort, runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";
import { WebSite } from "../support/web_site.ts";

const quiet = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--dump-dom",
];

peerTest(
  "Chromium uses the PAC file to reach a name that only the remote network resolves, and not its local look-alike",
  [
    "chromium",
  ],
  async (
    { chromium },
  ) => {
    await using home = await Household.open();
    await using site = new WebSite();
    await using far = farSide({ "web.lab.example:80": site.address, "lab.example:80": site.address });
    await home.configure(`
transports: { far: { proxy: { url: "socks5h://${far.address}" } } }
routes: [{ to: lab.example, via: far }]
`);
    await using instance = await home.instance();
    const pac = `--proxy-pac-url=http://${await instance.address()}/proxy.pac`;
    const visit = (url: string) =>
      runPeer(chromium, [...quiet, pac, `--user-data-dir=${home.directory}/profile`, url], {
        env: { HOME: home.directory, XDG_RUNTIME_DIR: `${home.directory}/run` },
      });
    for (const host of ["web.lab.example", "lab.example"]) {
      const { stdout, stderr } = await visit(`http://${host}/deep`);
      assert.match(stdout, new RegExp(`hidden: ${host}/deep`), stderr);
    }
    assert.deepEqual([...new Set(far.asked)], ["web.lab.example:80", "lab.example:80"]);
    const closed = freePort();
    for (const host of [`notlab.example:${closed}`, `127.0.0.1:${closed}`]) {
      const { stdout } = await visit(`http://${host}/`);
      assert.doesNotMatch(stdout, /hidden/);
    }
    await instance.says(/target=web\.lab\.example:80 transport=far /);
    assert.doesNotMatch(instance.stderr, /target=(?:notlab\.example|127\.)/);
  },
);
