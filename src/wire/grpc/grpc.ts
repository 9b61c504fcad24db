import type { Bytes } from "../../core/mod.ts";
import { fieldValue, type HeaderField } from "../http2/hpack_table.ts";

// +------------+------------------+---------+
// | COMPRESSED | LENGTH (4 bytes) | MESSAGE |   each message of a gRPC stream
// +------------+------------------+---------+

/** The size of the header of each message. */
export const messageHeadSize = 5;

/** Writes the header of a message that follows in `frame` and continues with `more` bytes elsewhere. */
export function writeMessageHead(frame: Bytes, more = 0): void {
  const length = frame.length - messageHeadSize + more;
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
}

/** Reads the five header bytes from `at`. */
export function readMessageHead(
  bytes: Bytes,
  at: number,
): { readonly isPlain: boolean; readonly length: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at);
  return { isPlain: view.getUint8(0) === 0, length: view.getUint32(1) };
}

/** The status codes of calls (only those used here). */
export const grpcCodes = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
}

export function grpcRequest(
  { path, authority, scheme, metadata = [] }: {
    path: string;
    authority: string;
    scheme: "http" | "https";
    metadata?: readonly HeaderField[];
  },
): HeaderField[] {
  return [
    [":method", "POST"],
    [":scheme", scheme],
    [":path", path],
    [":authority", authority],
    ["content-type", "application/grpc"],
    ["user-agent", "postern"],
    ["te", "trailers"],
    ...metadata,
  ];
}

/** The trailers of a call. */
export function grpcTrailers({ code, message }: GrpcStatus): HeaderField[] {
  return [
    ["grpc-status", String(code)],
    ...message === "" ? [] : [["grpc-message", percent(message)] as const],
  ];
}

/** Reads the status from trailers; undefined when they have none. */
export function grpcStatus(fields: readonly HeaderField[]): GrpcStatus | undefined {
  const code = fieldValue(fields, "grpc-status");
  if (code === undefined || !/^\d{1,3}$/.test(code)) return undefined;
  return { code: Number(code), message: unpercent(fieldValue(fields, "grpc-message") ?? "") };
}

function percent(message: string): string {
  return Array.from(new TextEncoder().encode(message.slice(0, 1000)), (byte) => {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    return isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

function unpercent(text: string): string {
  const bytes = text.replace(
    /%([0-9A-Fa-f]{2})/g,
    (_, hex: string) => String.fromCharCode(parseInt(hex, 16)),
  );
  return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}
