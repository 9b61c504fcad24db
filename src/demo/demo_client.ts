import { type Conn, joinBytes, Messages } from "../core/mod.ts";
import { copyBody, readFinalHead } from "../http/mod.ts";
import { encodeRequestHead, Fields, responseFraming } from "../wire/mod.ts";

/** The answer of a site. */
export interface DemoAnswer {
  readonly status: number;
  readonly text: string;
}

export interface DemoRequest {
  /** The target in the request line: a path, or a whole URL for a proxy. */
  readonly target: string;
  readonly host: string;
  readonly token?: string;
  /** Closes our side immediately, like clients that send one request and wait. */
  readonly endsFirst?: boolean;
  /** Called when the body starts. */
  readonly onBody?: () => void;
}

/** Sends a GET request and reads the whole answer; disposes the connection. */
export async function ask(
  conn: Conn,
  { target, host, token, endsFirst = false, onBody }: DemoRequest,
): Promise<DemoAnswer> {
  await using _conn = conn;
  const fields = new Fields([
    ["Host", host],
    ["Connection", "close"],
    ...(token === undefined ? [] : [["Postern-Token", token] as const]),
  ]);
  await conn.write(encodeRequestHead({ method: "GET", target, fields }));
  if (endsFirst) await conn.closeWrite();
  const messages = new Messages(conn);
  const head = await readFinalHead(messages, { from: host });
  const chunks: Uint8Array[] = [];
  await copyBody(messages, responseFraming(head, "GET"), (bytes) => {
    if (chunks.length === 0) onBody?.();
    chunks.push(bytes.slice());
    return Promise.resolve();
  }, { from: host });
  return { status: head.status, text: new TextDecoder().decode(joinBytes(chunks)) };
}
