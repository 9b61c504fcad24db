export { backoff } from "./backoff.ts";
export { decodeBase64, encodeBase64, pemBlock } from "./base64.ts";
export { type Bytes, isSameBytes, joinBytes } from "./bytes.ts";
export { type Clock, Deadlines, leastStall, limitTime, pause, within } from "./clock.ts";
export type {
  ClientNames,
  ClusterStatus,
  Conn,
  Dial,
  Dialed,
  DialOptions,
  DialRequest,
  HopStatus,
  Tally,
  Transport,
  TransportNote,
  TransportStatus,
} from "./streams/conn.ts";
export type { DatagramPath } from "./streams/datagram_path.ts";
export { asError, duplex, DuplexConn, type DuplexConnOptions } from "./streams/duplex.ts";
export type { FarName, FarNames, FarService } from "./far/far_names.ts";
export { cut, isOwnable, networkIn } from "./far/far_network.ts";
export type { FarDomain, FarNetwork, FarTable, FarTables } from "./far/far_table.ts";
export { eachAtOnce } from "./each_at_once.ts";
export { escapedMarkup, withEscapes } from "./escaped_text.ts";
export { GatheredOutput } from "./gathered_output.ts";
export { hexText } from "./hex_text.ts";
export { Inbox } from "./streams/inbox.ts";
export { jsonIn } from "./json_in.ts";
export { LineWriter } from "./line_writer.ts";
export {
  createLog,
  formatLogFields,
  type Log,
  type LogFields,
  type LogLevel,
  logLevels,
  silentLog,
} from "./log.ts";
export { type Decode, Messages } from "./streams/messages.ts";
export { Counter, Histogram, type Metric } from "./metrics.ts";
export { percentDecoded } from "./percent_decoded.ts";
export { plainText } from "./plain_text.ts";
export { counted, formatAge, formatBytes } from "./quantities.ts";
export { ReadRoom } from "./streams/read_room.ts";
export { relay } from "./streams/relay.ts";
export { Ring } from "./streams/ring.ts";
export { bufferSizes, giveBuffer, takeAtMost, takeBuffer } from "./streams/spare_buffers.ts";
export { sha256 } from "./sha256.ts";
export { StreamedConn } from "./streams/streamed_conn.ts";
export { Tasks } from "./tasks.ts";
export { transportClosed } from "./transport_closed.ts";
export { Turns, unlessAborted } from "./turns.ts";
export { whenAborted } from "./when_aborted.ts";
export { wildcardPattern } from "./wildcards.ts";
