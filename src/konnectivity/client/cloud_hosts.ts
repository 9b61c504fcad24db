/** The domains below which clouds have their APIs, as HyperShift counts them. */
export const cloudDomains: readonly string[] = [
  "amazonaws.com",
  "c2s.ic.gov",
  "hci.ic.gov",
  "sc2s.sgov.gov",
  "microsoftonline.com",
  "azure.com",
  "cloud.ibm.com",
];

/** Whether a host, in its normal form, is below one of them. */
export function isCloudHost(host: string): boolean {
  return cloudDomains.some((domain) => host.endsWith(`.${domain}`));
}
