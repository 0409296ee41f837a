import { ROLES, type Role } from "../hardware/roles.ts";

/** Metrics by the two ends of their names, for families whose members differ between GPUs and versions. */
export interface Family {
  readonly prefix: string;
  readonly suffix: string;
}

/** One thing an analysis needs: a role (any of its metrics will do), one metric, or a family (as many as there are). */
export type Need = { readonly required: boolean } & (
  | { readonly role: Role }
  | { readonly metric: string }
  | { readonly family: Family }
);

/**
 * What an analysis needs, as data: readers keep these metrics, results list those that are missing, and a capture asks
 * the tool for them. `required`: without it the analysis has no answer at all.
 */
export interface Declaration {
  readonly name: string;
  readonly needs: readonly Need[];
  /** Kept where a report has them instead; never asked for and never missed. */
  readonly substitutes?: readonly Need[];
}

const required = (...roles: Role[]): Need[] => roles.map((role) => ({ role, required: true }));
const optional = (...roles: Role[]): Need[] => roles.map((role) => ({ role, required: false }));
const optionalMetrics = (names: readonly string[]): Need[] => names.map((metric) => ({ metric, required: false }));
const optionalFamily = (prefix: string, suffix: string): Need => ({ family: { prefix, suffix }, required: false });

export const needs = { required, optional, optionalMetrics, optionalFamily };

/** True where a metric belongs to a family. */
export const inFamily = ({ prefix, suffix }: Family, name: string): boolean =>
  name.startsWith(prefix) && name.endsWith(suffix) && name.length >= prefix.length + suffix.length;

/** The families that the declarations ask for. */
export const declaredFamilies = (declarations: readonly Declaration[]): Family[] =>
  declarations.flatMap(({ needs: all }) => all.flatMap((need) => ("family" in need ? [need.family] : [])));

/** A test for metric names that any of the declarations names. Cheap: readers ask it once a name. */
export function metricTest(declarations: readonly Declaration[]): (name: string) => boolean {
  const names = new Set<string>();
  const families: Family[] = [];
  for (const need of declarations.flatMap(({ needs: first, substitutes = [] }) => [...first, ...substitutes])) {
    if ("role" in need) for (const name of ROLES[need.role]) names.add(name);
    else if ("metric" in need) names.add(need.metric);
    else families.push(need.family);
  }
  return (name) => names.has(name) || families.some((family) => inFamily(family, name));
}

/**
 * What the declarations name and a launch has no number for: a role by its first metric, a family as `prefix*suffix`.
 * Sorted, without repeats.
 */
export function missingMetrics(
  declarations: readonly Declaration[],
  has: (name: string) => boolean,
  hasFamily: (family: Family) => boolean,
): string[] {
  const missing = new Set<string>();
  for (const need of declarations.flatMap((declaration) => declaration.needs)) {
    if ("role" in need) {
      if (!ROLES[need.role].some(has)) missing.add(ROLES[need.role][0]);
    } else if ("metric" in need) {
      if (!has(need.metric)) missing.add(need.metric);
    } else if (!hasFamily(need.family)) {
      missing.add(`${need.family.prefix}*${need.family.suffix}`);
    }
  }
  return [...missing].sort();
}
