import { formatEndpoint, formatTarget, type Target } from "../../words/mod.ts";
import type { BoundListener } from "./listener_set.ts";

/** The changes of DNS addresses, one line each. */
export function dnsChanges(before: readonly Target[], after: readonly Target[]): string[] {
  const [was, is] = [before.map(formatTarget), after.map(formatTarget)];
  return [
    ...is.filter((address) => !was.includes(address)).map((address) => `now answers DNS on ${address}`),
    ...was.filter((address) => !is.includes(address)).map((address) => `no longer answers DNS on ${address}`),
  ];
}

/** The changes of listeners, one line each. */
export function listenerChanges(before: readonly BoundListener[], after: readonly BoundListener[]): string[] {
  const changes: string[] = [];
  for (const { address, kind, hasAuth, users, only, forward } of after) {
    const was = before.find((one) => one.address === address);
    if (!was) changes.push(`now listens on ${address}`);
    else if (was.kind !== kind) changes.push(`${address} is now ${kind} (was ${was.kind})`);
    const [old, now] = [was?.forward, forward].map((one) => one && formatEndpoint(one.target));
    if (now !== undefined && old !== now) {
      changes.push(`${address} now forwards to ${now}${old === undefined ? "" : ` (was ${old})`}`);
    }
    if (was && was.hasAuth !== hasAuth) {
      changes.push(`${address} ${hasAuth ? "now requires a password" : "no longer requires a password"}`);
    } else if (was && JSON.stringify(was.users) !== JSON.stringify(users)) {
      changes.push(`${address} has different users or passwords`);
    }
    if (was && JSON.stringify(was.only) !== JSON.stringify(only)) {
      changes.push(`${address} now allows ${only ? "other targets" : "every target"}`);
    }
  }
  for (const { address } of before) {
    if (!after.some((one) => one.address === address)) changes.push(`no longer listens on ${address}`);
  }
  return changes;
}
