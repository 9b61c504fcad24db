export interface PemBlock {
  /** The block's type: `CERTIFICATE`, `PRIVATE KEY` and others. */
  readonly kind: string;
  /** The bytes in base64 without line breaks; undefined when the block has no end or is malformed. */
  readonly base64?: string;
  /** The block has headers such as `Proc-Type`; certificate readers skip such blocks. */
  readonly hasHeaders: boolean;
  /** The number of its first line, from 1. */
  readonly line: number;
}

const begin = /^-----BEGIN ([^\r\n]{1,100}?)-----\s*$/;

/** Whether text follows the last block. */
export function hasTextBehind(text: string): boolean {
  const last = text.lastIndexOf("-----END ");
  const line = text.indexOf("\n", last);
  return last >= 0 && line >= 0 && text.slice(line).trim() !== "";
}

/** The blocks of a text in order (RFC 7468); skips text between them. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const kind = begin.exec(lines[at] ?? "")?.[1];
    if (kind === undefined) continue;
    const end = endOf(lines, at + 1, kind);
    const isClosed = end < lines.length && isEnd(lines[end] ?? "", kind);
    blocks.push({ kind, line: at + 1, ...contentOf(lines.slice(at + 1, end), isClosed) });
    at = isClosed ? end : end - 1;
  }
  return blocks;
}

/** The line where a block ends: its END line, the next BEGIN line, or the end of the text. */
function endOf(lines: readonly string[], start: number, kind: string): number {
  let at = start;
  while (at < lines.length && !isEnd(lines[at] ?? "", kind) && !begin.test(lines[at] ?? "")) at++;
  return at;
}

function isEnd(line: string, kind: string): boolean {
  return line.startsWith("-----END ") && line.trimEnd() === `-----END ${kind}-----`;
}

function contentOf(lines: readonly string[], isClosed: boolean): Pick<PemBlock, "base64" | "hasHeaders"> {
  const hasHeaders = lines.some((line) => line.includes(":"));
  if (!isClosed || hasHeaders) return { hasHeaders };
  const base64 = lines.join("").replace(/\s/g, "");
  const isWhole = base64 !== "" && base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
  return isWhole ? { base64, hasHeaders } : { hasHeaders };
}
