export {
  formatIp,
  type IpBytes,
  isLoopback,
  isLoopbackHost,
  isUnspecified,
  parseIp,
  parseIPv4,
  parseIPv6,
  unmapped,
} from "./address.ts";
export { asciiName } from "./ascii_name.ts";
export { canonicalHost } from "./canonical_host.ts";
export { type Endpoint, formatEndpoint } from "./endpoint.ts";
export {
  asCause,
  asPosternError,
  asUnstarted,
  describe,
  type ErrorCode,
  type ErrorDetail,
  exitCode,
  httpStatus,
  isErrorCode,
  isOfTarget,
  isPosternError,
  pathFailure,
  PosternError,
  reasonOf,
  socks5Reply,
  withContext,
} from "./errors.ts";
export { endsInNumber, parseAnyIPv4 } from "./numeric_host.ts";
export { formatTarget, normalHost, parseTarget, type Target, targetOf, toldOf } from "./target.ts";
