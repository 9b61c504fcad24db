export { ControlClient } from "./control_client.ts";
export type {
  CatalogueState,
  ConnectionInfo,
  DialReport,
  DnsInfo,
  EndedConnection,
  ErrorInfo,
  ExplanationInfo,
  Hello,
  HopInfo,
  InstancePhase,
  LoggedLine,
  ProxyEnvironment,
  ReloadReport,
  Status,
  TableState,
  TrafficSample,
  TransportState,
  WatchedStep,
  WatchedWhole,
  WatchUpdate,
} from "./instance_state.ts";
export { errorInfo } from "./error_info.ts";
