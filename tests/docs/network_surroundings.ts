import { DatabaseServer } from "../support/databases.ts";
import { Dex } from "../support/dex.ts";
import { GitServer, makeRepository } from "../support/git_server.ts";
import { NamedServer } from "../support/kube_instance.ts";
import { startServer } from "../support/kube_processes.ts";
import { Lieutenant, type SynCluster } from "../support/lieutenant.ts";
import { startMicrosocks, startTinyproxy } from "../support/real_proxies.ts";
import { signInTurn } from "../support/sign_in_port.ts";
import { SshLab, underHosts } from "../support/sshd.ts";
import { tlsFront } from "../support/target_server.ts";
import { testTls } from "../support/tls_files.ts";
import type { Start, Surroundings } from "./surroundings.ts";

/**
 * Starts two ssh hosts, the second reached through the first, and servers that only the second one resolves.
 */
export async function sshSurroundings({ started, paths }: Start): Promise<Surroundings> {
  const lab = started.use(await SshLab.create(paths));
  const known = (...names: string[]) => ({
    hosts: Object.fromEntries(names.map((name) => [name, "127.0.0.1"])),
  });
  const [near, second] = await Promise.all([
    lab.start("jump1", known("management4.example.net", "intranet.corp.example.net", ...databaseNames)),
    lab.start(
      "management4",
      known("intranet.management.example.net", "db.management.example.net", ...prodNames),
    ),
  ]);
  const site = started.use(new NamedServer("hello from the intranet\n"));
  const port = site.address.split(":")[1];
  for (const { name, port, keys: [key] } of [near, second]) {
    await lab.know(`[${name}.example.net]:${port}`, `${key}.pub`);
  }
  const lines = [
    `Host jump1.example.net\n  Port ${near.port}`,
    `Host management4.example.net\n  Port ${second.port}\n  ProxyJump jump1.example.net`,
  ];
  return {
    files: { ".ssh/config": sshConfig(lab, lines) },
    hosts: ["jump1.example.net"],
    stands: {
      "//intranet.management.example.net/": `//intranet.management.example.net:${port}/`,
      "//intranet.management.example.net:3000/": `//intranet.management.example.net:${port}/`,
      "db.management.example.net:5432": `db.management.example.net:${port}`,
      "//intranet.corp.example.net/": `//intranet.corp.example.net:${port}/`,
      "//198.18.0.1/": `//198.18.0.1:${port}/`,
      "ports: [8443]": `ports: [${port}]`,
      "//127.64.0.1:8443/": `//127.64.0.1:${port}/`,
    },
    programs: { dig: `'${paths.dig}'`, torsocks: `'${paths.torsocks}'` },
  };
}

/** Starts a database of each kind, whose names the first ssh host resolves. */
export async function databaseSurroundings({ started, paths }: Start): Promise<Surroundings> {
  const [postgres, mariadb, redis] = await Promise.all([
    DatabaseServer.postgres(paths),
    DatabaseServer.mariadb(paths),
    startServer(paths.redis_server, (port) => ["--port", `${port}`, "--bind", "127.0.0.1", "--save", ""]),
  ]);
  for (const server of [postgres, mariadb, redis]) started.use(server);
  return {
    files: { "ca.crt": testTls.ca, ".my.cnf": "[client]\npassword=secret\n" },
    stands: {
      "db.apps.example.net:5432": `db.apps.example.net:${postgres.port}`,
      "ports: [5432]": `ports: [${postgres.port}]`,
      "host=db.apps.example.net user": `host=db.apps.example.net port=${postgres.port} user`,
      "mysql.apps.example.net:3306": `mysql.apps.example.net:${mariadb.port}`,
      "cache.apps.example.net:6379": `cache.apps.example.net:${redis.port}`,
    },
    programs: {
      psql: `'${paths.psql}'`,
      mariadb: `'${paths.mariadb}'`,
      "redis-cli": `'${paths.redis_cli}'`,
    },
  };
}

/** Starts a git server for ssh and HTTP, whose name a jump host resolves. */
export async function gitSurroundings({ started, paths }: Start): Promise<Surroundings> {
  const lab = started.use(await SshLab.create(paths));
  const name = "git.lab.example.net";
  const [near, git] = await Promise.all([
    lab.start("jump1", { hosts: { [name]: "127.0.0.1" } }),
    lab.start("git", { config: ["Subsystem sftp internal-sftp"] }),
  ]);
  await lab.know(`[jump1.example.net]:${near.port}`, `${near.keys[0]}.pub`);
  await lab.know(`[${name}]:${git.port}`, `${git.keys[0]}.pub`);
  const there = await Deno.makeTempDir({ prefix: "git-" });
  started.defer(() => Deno.remove(there, { recursive: true }));
  await Deno.mkdir(`${there}/inbox`);
  await Deno.mkdir(`${there}/team`);
  await makeRepository(paths.git, there, "team/project");
  const web = started.use(new GitServer(paths.git, there));
  const lines = [
    "Include postern.conf",
    `Host jump1.example.net\n  Port ${near.port}`,
    `Host ${name}\n  Port ${git.port}`,
  ];
  return {
    files: { ".ssh/config": sshConfig(lab, lines) },
    env: { GIT_CONFIG_NOSYSTEM: "1" },
    hosts: ["jump1.example.net"],
    stands: {
      [`${name}:`]: `${name}:${there}/`,
      "ls inbox": `ls ${there}/inbox`,
      [`//${name}/team`]: `//${name}:${web.address.split(":")[1]}/team`,
      [`//${name}.proxy`]: `//${name}:${web.address.split(":")[1]}.proxy`,
    },
  };
}

/** An ssh configuration with the lab's key and known hosts for every host. */
function sshConfig({ user, key, knownHosts }: SshLab, lines: readonly string[]): string {
  const usual = [
    ...["Host *", `  User ${user}`, `  IdentityFile ${key}`, "  IdentitiesOnly yes"],
    ...[`  UserKnownHostsFile ${knownHosts}`, "  GlobalKnownHostsFile none"],
  ];
  return `${[...lines, ...usual].join("\n")}\n`;
}

/**
 * Starts a Lieutenant with two clusters, reached through the second ssh host, and a browser that signs in.
 */
export async function fleetSurroundings({ started, paths }: Start): Promise<Surroundings> {
  const directory = await Deno.makeTempDir({ prefix: "fleet-" });
  started.defer(() => Deno.remove(directory, { recursive: true }));
  started.use(await turnAsync());
  const { issuer, discoveryUrl } = started.use(await Dex.start(paths.dex, directory));
  const lieutenant = started.use(
    await Lieutenant.start({
      ...paths,
      clusters: (kubernetes) => prodNames.map((name) => prodCluster(name, { kubernetes, issuer })),
      oidc: { issuer, clientId: "lieutenant", discoveryUrl },
    }),
  );
  const script = new URL("./browse.ts", import.meta.url).pathname;
  const tests = new URL("../", import.meta.url).pathname;
  const browser =
    `'${Deno.execPath()}' run --no-prompt --quiet --no-lock --allow-net --allow-env --allow-read='${tests}' '${script}'`;
  return {
    files: { token: Lieutenant.tokens.alice },
    env: { SSL_CERT_FILE: authority, POSTERN_BROWSER: "xdg-open" },
    stands: { "https://api.syn.example.com": lieutenant.url.origin },
    programs: {
      kubectl: `'${paths.kubectl}'`,
      kubelogin: `'${paths.kubelogin}'`,
      "xdg-open": browser,
    },
  };
}

/** Starts a company's proxy with a password, and a second proxy reached through it. */
export async function proxySurroundings({ started, paths }: Start): Promise<Surroundings> {
  const directory = await Deno.makeTempDir({ prefix: "proxies-" });
  started.defer(() => Deno.remove(directory, { recursive: true }));
  const { tinyproxy, microsocks } = paths;
  const account = { user: "me", password: "secret-of-me" };
  const behind = async (...names: string[]) => ({
    under: await underHosts(
      `${directory}/${names[0]}`,
      Object.fromEntries(names.map((name) => [name, "127.0.0.1"])),
    ),
  });
  const lab = started.use(
    await startMicrosocks(microsocks, undefined, await behind("git.lab.corp.example")),
  );
  const own = await behind("gate.lab.corp.example", "wiki.corp.example");
  const corp = started.use(await startTinyproxy(tinyproxy, directory, account, own));
  const open = started.use(
    await startTinyproxy(tinyproxy, directory, undefined, await behind("site.example.net")),
  );
  const site = started.use(new NamedServer("hello from the company\n"));
  const secure = started.use(tlsFront(site.address, testTls.server));
  const port = site.address.split(":")[1];
  return {
    files: { ".config/postern/corp-password": account.password },
    env: { SSL_CERT_FILE: authority },
    hosts: ["proxy.corp.example", "site.example.net"],
    stands: {
      "=http://proxy.corp.example:3128": `=http://proxy.corp.example:${open.port}`,
      "https://console.example.net/": `https://site.example.net:${secure.port}/`,
      "proxy.corp.example:3128": `proxy.corp.example:${corp.port}`,
      "gate.lab.corp.example:1080": `gate.lab.corp.example:${lab.port}`,
      "//wiki.corp.example/": `//wiki.corp.example:${port}/`,
      "--dial git.lab.corp.example ": `--dial git.lab.corp.example:${port} `,
    },
  };
}

/** A separate network with the address of a Service that only an agent would reach. */
export const konnectivitySurroundings: Surroundings = {
  hosts: ["konnectivity.example.net"],
  addresses: ["10.96.0.1"],
  before: `mkdir service
echo "hello from a Service" > service/healthz
python3 -m http.server 80 --bind 10.96.0.1 --directory service >/dev/null 2>&1 &`,
};

/** The certificate authority of the test servers. */
const authority = new URL("../support/tls/ca.crt", import.meta.url).pathname;

/** The names of databases, which the test certificate contains. */
const databaseNames = ["db", "mysql", "cache"].map((name) => `${name}.apps.example.net`);

/** The API host names of the fleet's clusters, which the test certificate contains. */
const prodNames = ["c-prod01", "c-prod02"].map((id) => `${id}.apps.example.net`);

function prodCluster(
  name: string,
  { kubernetes, issuer }: { kubernetes: string; issuer: string },
): SynCluster {
  const [id = ""] = name.split(".");
  return {
    id,
    tenant: "t-a",
    displayName: id.replace("c-prod", "Production "),
    facts: {
      cloud: "exoscale",
      jumphost: "management4.example.net",
      login: JSON.stringify({ token: Lieutenant.tokens.alice }),
    },
    dynamicFacts: {
      talosBaseDomain: name,
      talosApiURL: `https://${name}:${kubernetes.split(":")[1]}`,
      talosAPICertificateAuthorityData: btoa(testTls.ca),
      oidcIssuer: issuer,
      oidcClientId: "lieutenant",
    },
  };
}

/** Waits until no other test signs in. */
async function turnAsync(): Promise<AsyncDisposable> {
  const turn = await signInTurn();
  return { [Symbol.asyncDispose]: () => Promise.resolve(turn[Symbol.dispose]()) };
}
