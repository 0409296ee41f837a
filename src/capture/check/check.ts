/** One thing that was looked at before a host is used. */
export interface Check {
  /** Stable, snake_case. */
  readonly id: string;
  readonly title: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** What was found; for `skipped` why it was not looked at. */
  readonly message: string;
  /** What to do; null where nothing is to be done. */
  readonly fix: string | null;
}

/** What a check finds, before it has a name. */
export type Found = Pick<Check, "status" | "message" | "fix">;

export const good = (message: string): Found => ({ status: "ok", message, fix: null });
export const warned = (message: string, fix: string): Found => ({ status: "warning", message, fix });
export const failed = (message: string, fix: string): Found => ({ status: "failed", message, fix });
export const skipped = (message: string): Found => ({ status: "skipped", message, fix: null });

/** Checks in the order in which they depend on one another, and the verdict over them. */
export interface CheckReport {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** The first that failed: later ones may fail only because of it. Null where none did. */
  readonly fix_first: { readonly check: string; readonly message: string; readonly fix: string } | null;
}

export function checkReport(checks: readonly Check[]): CheckReport {
  const first = checks.find(({ status }) => status === "failed");
  return {
    ok: first === undefined,
    checks,
    fix_first: first ? { check: first.id, message: first.message, fix: first.fix ?? "" } : null,
  };
}
