import { decodeBase64 } from "../core/mod.ts";
type Library = typeof import("./open_pgp_library.ts");
type Message = Awaited<ReturnType<Library["readMessage"]>>;

/** The most characters of a message. */
const longest = 2 * 1024 * 1024;

/** A message that is armored, or binary as base64; undefined for anything else. */
export async function messageOf(library: Library, data: string): Promise<Message | undefined> {
  if (data.length > longest) return undefined;
  try {
    if (/-----BEGIN PGP MESSAGE-----/.test(data)) return await library.readMessage({ armoredMessage: data });
    const bytes = decodeBase64(data.replaceAll(/\s/g, ""));
    return bytes && await library.readMessage({ binaryMessage: bytes });
  } catch {
    // What the library says of it may hold a piece of it; that it is no message is all there is to tell.
    return undefined;
  }
}
