export { ControlClient } from "./control_client.ts";
export type {
  CatalogueState,
  ConnectionInfo,
  DialReport,
  DnsInfo,
  DoorPhase,
  EndedConnection,
  ErrorInfo,
  ExplanationInfo,
  Hello,
  HopInfo,
  LoggedLine,
  ProxyEnvironment,
  ReloadReport,
  Status,
  TableState,
  TrafficSample,
  TransportState,
  Watched,
  WatchedStep,
  WatchedWhole,
} from "./door_state.ts";
export { errorInfo } from "./error_info.ts";
