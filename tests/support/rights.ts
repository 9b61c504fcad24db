import assert from "node:assert/strict";
import type { KubeObject } from "./kube_objects.ts";

/** One right of an account, or its use. */
export interface Right {
  /** The namespace; undefined for all namespaces and for cluster-wide objects. */
  readonly namespace: string | undefined;
  readonly group: string;
  /** The resource with its subresource: `proxies/status`. */
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
}

/** A request to an API server. */
export interface Asked extends Right {
  readonly code: number;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface AuditLine {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly namespace?: string;
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
}

/** The audit log of an API server, with the requests of each account. */
export class Audit implements AsyncDisposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async create(): Promise<Audit> {
    const audit = new Audit(await Deno.makeTempDir({ prefix: "audit-" }));
    const policy = {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived"],
      rules: [{ level: "Metadata", userGroups: ["system:serviceaccounts"] }, { level: "None" }],
    };
    await Deno.writeTextFile(`${audit.#directory}/policy.yaml`, JSON.stringify(policy));
    return audit;
  }

  /** The options of the API server. */
  get apiOptions(): readonly string[] {
    return [`--audit-policy-file=${this.#directory}/policy.yaml`, `--audit-log-path=${this.#directory}/log`];
  }

  /** Returns the requests of a service account (`namespace:name`) so far. */
  async asked(account: string): Promise<Asked[]> {
    const lines = (await Deno.readTextFile(`${this.#directory}/log`)).split("\n").slice(0, -1);
    return lines.map((line): AuditLine => JSON.parse(line)).filter(({ user }) =>
      user.username === `system:serviceaccount:${account}`
    ).flatMap(({ verb, objectRef, responseStatus }) => {
      if (!objectRef?.resource) return [];
      const { namespace, apiGroup = "", resource, subresource, name } = objectRef;
      const code = responseStatus?.code ?? 0;
      return [{
        namespace,
        group: apiGroup,
        resource: subresource === undefined ? resource : `${resource}/${subresource}`,
        // Applying a missing object creates it, which also needs the right to create.
        verb: verb === "patch" && code === 201 ? "create" : verb,
        ...(name !== undefined && { name }),
        code,
      }];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#directory, { recursive: true });
  }
}

/** Returns the rights that Roles and ClusterRoles of manifests grant a service account. */
export function rightsOf(objects: readonly KubeObject[], account: string): Right[] {
  const bindings = objects.filter(({ kind, ...object }) => {
    const subjects = (object["subjects"] ?? []) as { namespace?: string; name: string }[];
    return /^(Cluster)?RoleBinding$/.test(kind) &&
      subjects.some(({ namespace, name }) => `${namespace}:${name}` === account);
  });
  return bindings.flatMap((binding) => {
    const { kind, name } = binding["roleRef"] as { kind: string; name: string };
    const { namespace } = binding.metadata;
    const role = objects.find((object) =>
      object.kind === kind && object.metadata.name === name && object.metadata.namespace === namespace
    );
    assert.ok(role, `${kind} ${name} is not among the manifests`);
    return (role["rules"] as Rule[]).flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) =>
            resourceNames.map((name) => ({
              namespace,
              group,
              resource,
              verb,
              ...(name !== undefined && { name }),
            }))
          )
        )
      )
    );
  });
}

/** Checks that the rights sufficed and that every right was used. */
export function assertJustEnough(rights: readonly Right[], asked: readonly Asked[]): void {
  assert.deepEqual(asked.filter(({ code }) => code === 403), [], "not enough");
  const unused = rights.filter((right) =>
    !asked.some((one) =>
      one.group === right.group && one.resource === right.resource && one.verb === right.verb &&
      (right.namespace === undefined || right.namespace === one.namespace) &&
      (right.name === undefined || right.name === one.name)
    )
  );
  assert.deepEqual(unused, [], "unused rights");
}
