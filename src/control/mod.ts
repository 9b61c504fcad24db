export { ControlClient, hopsField } from "./control_client.ts";
export {
  addressPath,
  checkedId,
  type ControlAddress,
  controlClient,
  type ControlPlace,
  controlPlaces,
  idsIn,
  lockPath,
  socketPath,
} from "./control_places.ts";
export { controlProtocol } from "./control_protocol.ts";
export type {
  BoundForward,
  CatalogueState,
  ConnectionInfo,
  DialReport,
  DnsInfo,
  EndedConnection,
  ErrorInfo,
  ExplanationInfo,
  ForwardRequest,
  ForwardUpdate,
  Hello,
  HopInfo,
  HostsInfo,
  InstancePhase,
  LoggedLine,
  ProxyEnvironment,
  ReloadReport,
  SshHosts,
  Status,
  TableState,
  TrafficSample,
  TransportState,
  UdpInfo,
  WatchedStep,
  WatchedWhole,
  WatchUpdate,
} from "./instance_state.ts";
export { endTrailer, endTrailerText } from "./end_trailer.ts";
export { errorInfo } from "./error_info.ts";
