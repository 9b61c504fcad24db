import {
  type ErrorCode,
  type ErrorDetail,
  exitCode,
  httpStatus,
  PosternError,
  socks5Reply,
} from "../src/words/mod.ts";
import { table } from "./reference_page.ts";

/** The meaning of each code; a code without a line is a compile error. */
const meanings: Readonly<Record<ErrorCode, string>> = {
  usage: "the command line or the request is invalid",
  config: "the configuration is invalid, or postern cannot use a file or port in it",
  auth: "an upstream requires credentials or rejects them",
  not_allowed: "a rule, the listener or the system forbids it",
  no_route: "no rule matches",
  name_not_found: "the name does not resolve",
  refused: "the target refused the connection",
  unreachable: "postern cannot reach the network, the host or an upstream",
  timeout: "no answer before the timeout",
  protocol: "the peer violates the protocol or uses another one",
  cancelled: "interrupted",
  internal: "a bug in postern, or no free file descriptors",
};

/** Details that change the answer to a client. */
const details: readonly (readonly [ErrorCode, ErrorDetail, string])[] = [
  ["unreachable", "network", "no route to that network"],
  ["not_allowed", "command", "SOCKS5 BIND or UDP ASSOCIATE"],
  ["protocol", "address_type", "a SOCKS5 address of an unknown kind"],
  ["internal", "overloaded", "no free file descriptors, or too many clients"],
];

/** The table of error codes with the exit code and answers of each. */
export function errorsTable(): string {
  const rows: string[][] = [];
  for (const [code, meaning] of Object.entries(meanings) as [ErrorCode, string][]) {
    rows.push(row(`\`${code}\``, new PosternError(code, meaning), meaning));
    for (const [owner, detail, what] of details) {
      if (owner !== code) continue;
      rows.push(row(`\`${code}\`, ${detail}`, new PosternError(code, what, { detail }), what));
    }
  }
  return table(["code", "exit", "SOCKS5", "HTTP", "meaning"], rows);
}

function row(name: string, error: PosternError, meaning: string): string[] {
  return [name, `${exitCode(error)}`, `${socks5Reply(error)}`, `${httpStatus(error)}`, meaning];
}
