export { emergencyKubeconfig } from "./emergency_kubeconfig.ts";
export { emergencyObjectName, readSecrets } from "./emergency_object.ts";
export {
  type BucketSettings,
  emergencySchema,
  type EmergencySettings,
  type PassboltSettings,
} from "./emergency_settings.ts";
export { openSecrets } from "./open_secrets.ts";
export { passboltBuckets } from "./passbolt_buckets.ts";
export { PrivateKeys } from "./private_keys.ts";
export { type Bucket, readObject, shownBucket } from "./s3_object.ts";
