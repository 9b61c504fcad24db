/** The parent domains of cloud APIs, as listed by HyperShift. */
export const cloudDomains: readonly string[] = [
  "amazonaws.com",
  "c2s.ic.gov",
  "hci.ic.gov",
  "sc2s.sgov.gov",
  "microsoftonline.com",
  "azure.com",
  "cloud.ibm.com",
];

/** Whether a normalized host is a subdomain of one of them. */
export function isCloudHost(host: string): boolean {
  return cloudDomains.some((domain) => host.endsWith(`.${domain}`));
}
