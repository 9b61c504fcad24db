import { type Conn, joinBytes, Messages } from "../core/mod.ts";
import { copyBody, readFinalHead } from "../http/mod.ts";
import { encodeRequestHead, Fields, responseFraming } from "../wire/mod.ts";

/** What a site answered. */
export interface DemoAnswer {
  readonly status: number;
  readonly text: string;
}

export interface DemoRequest {
  /** The request line's target: a path, or a whole URL for a proxy. */
  readonly target: string;
  readonly host: string;
  readonly token?: string;
  /** Ends our side at once, as clients do that send one request and wait. */
  readonly endsFirst?: boolean;
  /** Called at the first bytes of the body. */
  readonly onBody?: () => void;
}

/** Sends one GET and reads the whole answer; disposes the connection. */
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
