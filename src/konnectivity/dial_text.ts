import { dialCode } from "../http/mod.ts";
import {
  asCause,
  asPosternError,
  type ErrorCode,
  type ErrorDetail,
  formatTarget,
  PosternError,
  type Target,
} from "../words/mod.ts";

/** Formats a target for a dial: `host:port`. */
export function dialAddress(target: Target): string {
  return formatTarget(target);
}

/** Turns the error text of a failed dial into an error; the protocol sends no code. */
export function dialFailure(text: string, peer: string): PosternError {
  const code = dialCode(text) ?? (/given up|dial was canceled/i.test(text) ? "cancelled" : "unreachable");
  return new PosternError(code, `Cannot connect through ${peer}: ${asCause(text.slice(0, 300))}`);
}

/** The error text of a failed dial, as Go programs write it. */
export function dialFailureText(address: string, error: unknown): string {
  const { code, detail, message } = asPosternError(error);
  const known = code === "unreachable" ? unreachable.get(detail) : spoken.get(code);
  return known === undefined ? message : `dial tcp ${address}: ${known}`;
}

const spoken = new Map<ErrorCode, string>([
  ["refused", "connect: connection refused"],
  ["name_not_found", "lookup: no such host"],
  ["timeout", "i/o timeout"],
]);

const unreachable = new Map<ErrorDetail | undefined, string>([
  ["host", "connect: no route to host"],
  ["network", "connect: network is unreachable"],
]);
