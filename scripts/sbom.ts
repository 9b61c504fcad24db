import settings from "../deno.json" with { type: "json" };
import { runDeno } from "./bundle.ts";

/** The packages in the output of `deno info --json`. */
interface Graph {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<Record<string, Package>>;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
  readonly localPath: string;
}

/** The packages in `deno.lock`. */
interface Lock {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

/** A component of the program in CycloneDX format. */
export interface Component {
  readonly type: "library" | "platform";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses:
    readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
}

/** The fields of a bill of materials that this script writes. */
export interface Bill {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: string;
  readonly version: number;
  readonly metadata: { readonly component: object };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Reads the package.json of a directory. */
export type ReadPackage = (directory: string) => Promise<Readonly<Record<string, unknown>>>;

/** Optional native packages that the bundle omits, and their dependencies. */
const leftOut = ["cpu-features", "nan"];

/** Writes `dist/postern.cdx.json`: every package in the program, with hash and license. */
if (import.meta.main) {
  const root = new URL("../", import.meta.url);
  const bill = await billOfMaterials();
  await Deno.mkdir(new URL("dist/", root), { recursive: true });
  await Deno.writeTextFile(new URL("dist/postern.cdx.json", root), `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`wrote dist/postern.cdx.json: ${bill.components.length} components`);
}

/**
 * Returns the program's bill of materials (CycloneDX 1.6); the same source and runtime give the same result.
 */
export async function billOfMaterials(
  { runtime = Deno.version.deno, readPackage = readIt }: { runtime?: string; readPackage?: ReadPackage } = {},
): Promise<Bill> {
  const main = decodeURIComponent(new URL("../main.ts", import.meta.url).pathname);
  const graph = JSON.parse(await runDeno(["info", "--json", main])) as Graph;
  const packages = packagesOf(graph);
  const lock: Lock = JSON.parse(await Deno.readTextFile(new URL("../deno.lock", import.meta.url)));
  const components: Component[] = [];
  for (const [key, entry] of packages) components.push(await componentOf(key, entry, { lock, readPackage }));
  const self = `pkg:generic/postern@${settings.version}`;
  const refs = new Map(components.map((component) => [`${component.name}@${component.version}`, component]));
  const direct = graph.modules.flatMap(({ npmPackage }) => npmPackage === undefined ? [] : [npmPackage]);
  const refsOf = (keys: readonly string[]) =>
    [...new Set(keys)].flatMap((key) => refs.get(key)?.["bom-ref"] ?? []).sort();
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": self,
        name: "postern",
        version: settings.version,
        licenses: [{ license: { id: settings.license } }],
      },
    },
    components: [...components, platform(runtime)],
    dependencies: [
      { ref: self, dependsOn: [...refsOf(direct), platform(runtime)["bom-ref"]] },
      ...[...packages].map(([key, { dependencies }]) => ({
        ref: refs.get(key)?.["bom-ref"] ?? key,
        dependsOn: refsOf(dependencies),
      })),
    ],
  };
}

/** Returns the packages that the program imports and their dependencies, by name. */
function packagesOf({ modules, npmPackages }: Graph): Map<string, Package> {
  const found = new Map<string, Package>();
  const waiting = modules.flatMap(({ npmPackage }) => npmPackage === undefined ? [] : [npmPackage]);
  for (let key; (key = waiting.pop()) !== undefined;) {
    const entry = npmPackages[key];
    if (!entry) throw new Error(`Cannot find the package ${key} in the output of deno info`);
    if (found.has(key) || leftOut.includes(entry.name)) continue;
    found.set(key, entry);
    waiting.push(...entry.dependencies);
  }
  return new Map([...found].sort(([one], [other]) => one < other ? -1 : 1));
}

async function componentOf(
  key: string,
  { name, version, localPath }: Package,
  { lock, readPackage }: { lock: Lock; readPackage: ReadPackage },
): Promise<Component> {
  const told = licenseIn(await readPackage(localPath));
  if (told === undefined) throw new Error(`Cannot find the license of ${key}: its package.json has none`);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    licenses: [told.includes(" ") ? { expression: told } : { license: { id: told } }],
    hashes: [{ alg: "SHA-512", content: hexOf(integrityOf(key, lock)) }],
  };
}

/** The component for Deno, most of the program's file. */
function platform(version: string): Component {
  const purl = `pkg:github/denoland/deno@v${version}`;
  return {
    type: "platform",
    "bom-ref": purl,
    name: "deno",
    version,
    purl,
    licenses: [{ license: { id: "MIT" } }],
  };
}

async function readIt(directory: string): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse(await Deno.readTextFile(`${directory}/package.json`));
}

/** Returns the SPDX license of a package.json; older packages have a list. */
export function licenseIn({ license, licenses }: Readonly<Record<string, unknown>>): string | undefined {
  const listed = Array.isArray(licenses) ? licenses[0]?.type : undefined;
  const told: unknown = license ?? listed;
  return typeof told === "string" ? told.replace(/\+$/, "-or-later") : undefined;
}

function integrityOf(key: string, { npm }: Lock): string {
  const [, hash] = /^sha512-(.+)$/.exec(npm[key]?.integrity ?? "") ?? [];
  if (hash === undefined) throw new Error(`Cannot find the hash of ${key} in deno.lock`);
  return hash;
}

function hexOf(base64: string): string {
  return [...atob(base64)].map((sign) => sign.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}
