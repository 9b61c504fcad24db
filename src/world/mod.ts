export { accepting } from "./accepting.ts";
export { FreshText } from "./fresh_text.ts";
export type {
  AttachedNetwork,
  Datagram,
  Datagrams,
  Dialer,
  Listening,
  Network,
  SecureOptions,
  ServeSecureOptions,
  ShownCertificate,
} from "./network.ts";
export { absoluteFrom, directoryOf, fileNameOf } from "./path.ts";
export { readSettled } from "./read_settled.ts";
export { boundAs, checkSocketPath } from "./socket_path.ts";
export { type Store, type StoreChange, type StoreKey, storeLimits, type Stores } from "./store.ts";
export { hopsVariable, waitingHops } from "./waiting_hops.ts";
export type {
  AppendFile,
  AttachedOptions,
  Background,
  BackgroundOptions,
  EndedProgram,
  FileInfo,
  Files,
  Needs,
  PipedProgram,
  PipeOptions,
  Places,
  Process,
  Question,
  RunOptions,
  RunResult,
  Screen,
  ScreenEvents,
  SignalName,
  Terminal,
  World,
} from "./world.ts";
