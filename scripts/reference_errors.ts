import {
  type ErrorCode,
  type ErrorDetail,
  exitCode,
  httpStatus,
  PosternError,
  socks5Reply,
} from "../src/words/mod.ts";
import { table } from "./reference_page.ts";

/** What each code means; a new code is a compile error until it has its line. */
const meanings: Readonly<Record<ErrorCode, string>> = {
  usage: "the command line or the request is wrong",
  config: "the configuration is wrong, or a file or port it names cannot be used",
  auth: "an upstream wants credentials, or refuses ours",
  not_allowed: "a rule, the listener or the system forbids it",
  no_route: "no rule gives a route",
  name_not_found: "the name does not resolve",
  refused: "the target was reached and refused",
  unreachable: "the network, the host or an upstream cannot be reached",
  timeout: "no answer in time",
  protocol: "the peer violates the protocol or speaks another one",
  cancelled: "interrupted",
  internal: "a bug in postern, or out of open files",
};

/** Details that change an answer. */
const details: readonly (readonly [ErrorCode, ErrorDetail, string])[] = [
  ["unreachable", "network", "no route to that network"],
  ["not_allowed", "command", "SOCKS5 BIND or UDP ASSOCIATE"],
  ["protocol", "address_type", "a SOCKS5 address of an unknown kind"],
  ["internal", "overloaded", "out of open files, or too many clients"],
];

/** The table that turns an error into answers, as the code has it. */
export function errorsTable(): string {
  const rows: string[][] = [];
  for (const [code, meaning] of Object.entries(meanings) as [ErrorCode, string][]) {
    rows.push(row(`\`${code}\``, new PosternError(code, meaning), meaning));
    for (const [owner, detail, what] of details) {
      if (owner !== code) continue;
      rows.push(row(`\`${code}\`, ${detail}`, new PosternError(code, what, { detail }), what));
    }
  }
  return table(["code", "exit", "SOCKS5", "HTTP", "means"], rows);
}

function row(name: string, error: PosternError, meaning: string): string[] {
  return [name, `${exitCode(error)}`, `${socks5Reply(error)}`, `${httpStatus(error)}`, meaning];
}
