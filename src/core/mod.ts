export type { Bytes } from "./bytes.ts";
export { type Clock, Deadlines, leastStall, limitTime, pause, within } from "./clock.ts";
export type {
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
} from "./conn.ts";
export { duplex, DuplexConn, type DuplexConnOptions } from "./duplex.ts";
export type { FarName, FarNames, FarService } from "./far_names.ts";
export { cut, isOwnable, networkIn } from "./far_network.ts";
export type { FarDomain, FarNetwork, FarTable, FarTables } from "./far_table.ts";
export { GatheredOutput } from "./gathered_output.ts";
export { hexText } from "./hex_text.ts";
export { Inbox } from "./inbox.ts";
export { jsonIn } from "./json_in.ts";
export { LineWriter } from "./line_writer.ts";
export {
  createLog,
  formatFields,
  type Log,
  type LogFields,
  type LogLevel,
  logLevels,
  silentLog,
} from "./log.ts";
export { type Decode, Messages } from "./messages.ts";
export { Counter, Histogram, type Metric } from "./metrics.ts";
export { plainText } from "./plain_text.ts";
export { counted, formatAge, formatBytes } from "./quantities.ts";
export { ReadRoom } from "./read_room.ts";
export { relay } from "./relay.ts";
export { Ring } from "./ring.ts";
export { bufferSizes, giveBuffer, takeAtMost, takeBuffer } from "./spare_buffers.ts";
export { StreamedConn } from "./streamed_conn.ts";
export { Tasks } from "./tasks.ts";
export { Turns, unlessAborted } from "./turns.ts";
export { whenAborted } from "./when_aborted.ts";
