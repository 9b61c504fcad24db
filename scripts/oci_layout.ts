import { type TarEntry, writeTar } from "./tar.ts";

/** A reference to a blob, as in a manifest. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageDescription {
  readonly machine: string;
  /** The layers; the first one is the base. */
  readonly layers: readonly { readonly about: string; readonly entries: readonly TarEntry[] }[];
  /** The configuration of a container of this image. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly tag: string;
  /** The creation time in seconds; a fixed time gives the same image each time. */
  readonly time: number;
}

const types = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

/** Writes an image as an OCI image layout into a new directory and returns the digest of its manifest. */
export async function writeOciLayout(directory: string, image: ImageDescription): Promise<string> {
  const { machine, annotations, tag, time } = image;
  await Deno.mkdir(`${directory}/blobs/sha256`, { recursive: true });
  const layers: Descriptor[] = [], unpacked: string[] = [];
  for (const { entries } of image.layers) {
    const archive = await new Blob([...writeTar(entries, time)]).bytes();
    unpacked.push(await digestOf(archive));
    layers.push(await writeBlob(directory, types.layer, await gzip(archive)));
  }
  const created = new Date(time * 1000).toISOString();
  const config = await writeBlob(
    directory,
    types.config,
    json({
      created,
      architecture: machine,
      os: "linux",
      config: { ...image.config, Labels: annotations },
      rootfs: { type: "layers", diff_ids: unpacked },
      history: image.layers.map(({ about }) => ({ created, created_by: about })),
    }),
  );
  const manifest = await writeBlob(
    directory,
    types.manifest,
    json({ schemaVersion: 2, mediaType: types.manifest, config, layers, annotations }),
  );
  const named = {
    ...manifest,
    platform: { architecture: machine, os: "linux" },
    annotations: { "org.opencontainers.image.ref.name": tag },
  };
  await Deno.writeFile(
    `${directory}/index.json`,
    json({ schemaVersion: 2, mediaType: types.index, manifests: [named] }),
  );
  await Deno.writeFile(`${directory}/oci-layout`, json({ imageLayoutVersion: "1.0.0" }));
  return manifest.digest;
}

async function writeBlob(
  directory: string,
  mediaType: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<Descriptor> {
  const digest = await digestOf(content);
  await Deno.writeFile(`${directory}/blobs/${digest.replace(":", "/")}`, content);
  return { mediaType, digest, size: content.length };
}

async function gzip(content: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return await new Response(new Blob([content]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
}

async function digestOf(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256:${new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex()}`;
}

function json(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
