/** What a key may do. A key has one or more; `admin` does not include the permission for raw files. */
export const ROLES = ["reader", "submitter", "worker", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** Who sends a request. */
export interface Principal {
  /** null: the service is open, there are no keys. */
  readonly keyId: string | null;
  readonly roles: ReadonlySet<Role>;
  /** May read uploaded and captured files as they are: they hold command lines, paths and compiled code. */
  readonly rawArtifacts: boolean;
}

/** Everyone, while there are no keys and only this machine reaches the service. */
export const ANYONE: Principal = { keyId: null, roles: new Set(ROLES), rawArtifacts: true };

/** A submitter may what a reader may; an admin may what both may; a worker only what is a worker's. */
const INCLUDES: Readonly<Record<Role, readonly Role[]>> = {
  reader: ["reader"],
  submitter: ["submitter", "reader"],
  worker: ["worker"],
  admin: ["admin", "submitter", "reader"],
};

export function hasRole(principal: Principal, needed: Role): boolean {
  return [...principal.roles].some((role) => INCLUDES[role].includes(needed));
}
