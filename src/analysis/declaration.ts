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

/** What is missing of a need, by the name that the list of missing metrics shows. */
interface Item {
  readonly label: string;
  readonly names: readonly string[];
  readonly family: Family | null;
}

/** One item a need, sorted by its label: a role by its first metric, a family as `prefix*suffix`. */
function itemsOf(declarations: readonly Declaration[]): readonly Item[] {
  const items = new Map<string, Item>();
  for (const need of declarations.flatMap((declaration) => declaration.needs)) {
    if ("family" in need) {
      const label = `${need.family.prefix}*${need.family.suffix}`;
      if (!items.has(label)) items.set(label, { label, names: [], family: need.family });
    } else {
      const names = "role" in need ? ROLES[need.role] : [need.metric];
      const known = items.get(names[0] ?? "");
      if (known === undefined || known.names.length < names.length) {
        items.set(names[0] ?? "", { label: names[0] ?? "", names, family: null });
      }
    }
  }
  return [...items.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
}

/** A function that lists what the declarations name and a launch has no number for. Sorted, without repeats. */
export function missingLister(
  declarations: readonly Declaration[],
): (has: (name: string) => boolean, present: ReadonlySet<Family>) => string[] {
  const items = itemsOf(declarations);
  return (has, present) => {
    const missing: string[] = [];
    for (const { label, names, family } of items) {
      if (family === null ? !names.some(has) : !present.has(family)) missing.push(label);
    }
    return missing;
  };
}
