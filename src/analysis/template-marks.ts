/** Substitutions may double the text at every use; names of libraries stay far below this. */
export const LONGEST_TEXT = 262_144;

/** A pack holds several. */
export type Argument = string | readonly string[];

/** Of a name that cannot be read. */
export class Unknown extends Error {}

/**
 * Template parameters stay marks in a text until the function is read whose they are: a substitution that was made for
 * one function's `T_` means another function's where it is used there. No identifier holds these.
 */
export const MARKS = { parameter: "⟦", end: "⟧", pack: "⟪", packEnd: "⟫" } as const;
export const PARAMETER = /⟦(\d{1,6})⟧/g;
export const PACK = /⟪([^⟪⟫]*)⟫/g;
export const UNRESOLVED = /[⟦⟧⟪⟫]/;

/** Parameters of a function with its template arguments in place. */
export function resolved(text: string, args: readonly Argument[]): string {
  const limited = (replaced: string): string => {
    if (replaced.length > LONGEST_TEXT) throw new Unknown();
    return replaced;
  };
  if (!UNRESOLVED.test(text)) return limited(text);
  let budget = LONGEST_TEXT;
  const of = (position: string, element: number | null): string => {
    const argument = args[Number(position)];
    const one = element === null || typeof argument === "string" ? argument : argument?.[element];
    if (typeof one !== "string") throw new Unknown();
    budget -= one.length;
    if (budget < 0) throw new Unknown();
    return one;
  };
  const expanded = text.replace(PACK, (_, pattern: string) => {
    const packs = [...pattern.matchAll(PARAMETER)].flatMap(([, position]) => {
      const argument = args[Number(position)];
      return typeof argument === "object" ? [argument.length] : [];
    });
    const length = packs[0];
    if (length === undefined || packs.some((other) => other !== length)) throw new Unknown();
    return Array.from({ length }, (_one, element) =>
      pattern.replace(PARAMETER, (_two, position: string) => of(position, element)),
    ).join(", ");
  });
  return limited(expanded.replace(PARAMETER, (_, position: string) => of(position, null)));
}
