import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { type Authority, loadKonnectivity } from "../../konnectivity/mod.ts";

/** The options of `postern konnectivity certs`. */
export interface CertificatesRequest {
  readonly directory: string;
  /** Names and IP addresses of servers, added to those of upstream's examples. */
  readonly names: readonly string[];
  /** The validity of certificates, in days; a CA is valid for at least ten years. */
  readonly days: number;
  /** Which existing certificates to replace: those close to expiry, or all. CAs and keys stay. */
  readonly renews?: "due" | "all";
}

/** A written file and the end of its validity. */
export interface WrittenCertificate {
  readonly path: string;
  readonly notAfter: Date;
}

interface Leaf {
  readonly name: string;
  readonly use: "server" | "client";
}

/** The layout of upstream's examples: one CA for the frontend's clients, one for agents. */
const sides: readonly { readonly side: string; readonly leaves: readonly Leaf[] }[] = [
  {
    side: "frontend",
    leaves: [{ name: "proxy-frontend", use: "server" }, { name: "proxy-client", use: "client" }],
  },
  {
    side: "agent",
    leaves: [{ name: "proxy-frontend", use: "server" }, { name: "proxy-agent", use: "client" }],
  },
];
const usualNames = ["kubernetes", "localhost", "127.0.0.1"];
const day = 24 * 3600 * 1000;
const limit = 1024 * 1024;

/** Writes CAs, certificates and keys into `frontend/` and `agent/`, or renews existing ones. */
export async function writeCertificates(
  request: CertificatesRequest,
  { clock, files }: Pick<World, "clock" | "files">,
): Promise<WrittenCertificate[]> {
  const { directory, days, renews } = request;
  const { issueCertificate, makeAuthority, readAuthority, readIssued } = await loadKonnectivity();
  if (renews === undefined) await expectNone(directory, files);
  const now = clock.date();
  const written: WrittenCertificate[] = [];
  if (renews === undefined) await files.publicDirectory(directory);
  for (const { side, leaves } of sides) {
    const place = new Place(`${directory}/${side}`, files);
    let authority: Authority;
    if (renews === undefined) {
      await place.make();
      const span = { from: now, to: new Date(now.getTime() + Math.max(tenYears, days) * day) };
      authority = await makeAuthority(`konnectivity ${side} CA`, span);
      await place.write("ca", { cert: authority.pem, key: authority.keyPem });
      written.push({ path: place.issued("ca"), notAfter: authority.notAfter });
    } else authority = await readAuthority(await place.read("ca"), place.issued("ca"));
    for (const leaf of leaves) {
      const before = renews && await readIssued(await place.read(leaf.name), place.issued(leaf.name));
      const names = leaf.use === "client"
        ? []
        : [...new Set([...before?.names ?? usualNames, ...request.names])];
      const isAsItShouldBe = before && !isDue(before, now) && names.length === before.names.length;
      if (isAsItShouldBe && renews === "due") continue;
      const to = new Date(Math.min(now.getTime() + days * day, authority.notAfter.getTime()));
      const { cert, keyPem } = await issueCertificate(authority, {
        commonName: leaf.name,
        use: leaf.use,
        names,
        span: { from: now, to },
        ...(before && { key: before.key }),
      });
      await place.write(leaf.name, { cert, key: keyPem });
      written.push({ path: place.issued(leaf.name), notAfter: to });
    }
  }
  return written;
}

const tenYears = 3650;

/** Whether a certificate is in the last third of its validity, or expired. */
function isDue({ notBefore, notAfter }: { notBefore: Date; notAfter: Date }, now: Date): boolean {
  const span = notAfter.getTime() - notBefore.getTime();
  return notAfter.getTime() - now.getTime() < span / 3;
}

async function expectNone(directory: string, files: World["files"]): Promise<void> {
  for (const { side } of sides) {
    if (await files.info(`${directory}/${side}`) === undefined) continue;
    throw new PosternError(
      "config",
      `Cannot create certificates in "${directory}": "${side}" already exists`,
      {
        hint: "renew them with --renew, or name another directory",
      },
    );
  }
}

/** The directories of one side: `issued/` is public, `private/` only for its owner. */
class Place {
  readonly #directory: string;
  readonly #files: World["files"];

  constructor(directory: string, files: World["files"]) {
    this.#directory = directory;
    this.#files = files;
  }

  issued(name: string): string {
    return `${this.#directory}/issued/${name}.crt`;
  }

  async make(): Promise<void> {
    await this.#files.publicDirectory(this.#directory);
    await this.#files.publicDirectory(`${this.#directory}/issued`);
    await this.#files.privateDirectory(`${this.#directory}/private`);
  }

  /** Writes the key first: a certificate is useless without its key. */
  async write(
    name: string,
    { cert, key }: { readonly cert: string; readonly key?: string | undefined },
  ): Promise<void> {
    if (key !== undefined) await this.#files.replace(this.#key(name), key, { mode: 0o600 });
    await this.#files.replace(this.issued(name), cert, { mode: 0o644 });
  }

  async read(name: string): Promise<{ cert: string; key: string }> {
    const [cert, key] = await Promise.all([
      this.#files.readText(this.issued(name), { limit }),
      this.#files.readText(this.#key(name), { limit }),
    ]);
    return { cert, key };
  }

  #key(name: string): string {
    return `${this.#directory}/private/${name}.key`;
  }
}
