import { formatTarget, type Target } from "../../words/mod.ts";
import type { BoundListener } from "./listener_set.ts";

/** What is different between the addresses of before and now where DNS is answered, a line each. */
export function dnsChanges(before: readonly Target[], after: readonly Target[]): string[] {
  const [was, is] = [before.map(formatTarget), after.map(formatTarget)];
  return [
    ...is.filter((address) => !was.includes(address)).map((address) => `answers DNS on ${address} now`),
    ...was.filter((address) => !is.includes(address)).map((address) => `answers DNS on ${address} no more`),
  ];
}

/** What is different between the sockets of before and now, a line each. */
export function listenerChanges(before: readonly BoundListener[], after: readonly BoundListener[]): string[] {
  const changes: string[] = [];
  for (const { address, kind, hasAuth, users, only } of after) {
    const was = before.find((one) => one.address === address);
    if (!was) changes.push(`listens on ${address} now`);
    else if (was.kind !== kind) changes.push(`${address} is ${kind} now (was ${was.kind})`);
    if (was && was.hasAuth !== hasAuth) {
      changes.push(`${address} ${hasAuth ? "asks for a password now" : "asks for no password any more"}`);
    } else if (was && JSON.stringify(was.users) !== JSON.stringify(users)) {
      changes.push(`${address} has other users or passwords now`);
    }
    if (was && JSON.stringify(was.only) !== JSON.stringify(only)) {
      changes.push(`${address} lets ${only ? "other targets" : "every target"} through now`);
    }
  }
  for (const { address } of before) {
    if (!after.some((one) => one.address === address)) changes.push(`listens on ${address} no more`);
  }
  return changes;
}
