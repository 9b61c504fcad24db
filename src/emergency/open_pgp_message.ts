import { decodeBase64 } from "../core/mod.ts";
type Library = typeof import("./open_pgp_library.ts");
type Message = Awaited<ReturnType<Library["readMessage"]>>;

/** Maximum length of a message in characters. */
const longest = 2 * 1024 * 1024;

/** Parses a message, armored or binary as base64; undefined for any other text. */
export async function messageOf(library: Library, data: string): Promise<Message | undefined> {
  if (data.length > longest) return undefined;
  try {
    if (/-----BEGIN PGP MESSAGE-----/.test(data)) return await library.readMessage({ armoredMessage: data });
    const bytes = decodeBase64(data.replaceAll(/\s/g, ""));
    return bytes && await library.readMessage({ binaryMessage: bytes });
  } catch {
    // The library's error may contain a part of the text.
    return undefined;
  }
}
