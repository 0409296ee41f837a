/** Below the idle time-outs that proxies commonly have. */
export const MAX_WAIT_S = 60;

/**
 * Seconds of `wait` in a `Prefer` header (RFC 7240, section 4.3), at most 60; null where it is absent or cannot be
 * understood: a preference is never an error (section 2).
 */
export function preferredWait(header: string | string[] | undefined): number | null {
  const text = Array.isArray(header) ? header.join(",") : (header ?? "");
  for (const preference of text.split(",")) {
    const match = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(;|$)/i.exec(preference);
    if (match) return Math.min(Number(match[1]), MAX_WAIT_S);
  }
  return null;
}
