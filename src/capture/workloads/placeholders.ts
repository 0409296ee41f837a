/** Names that may stand in braces in the arguments of a workload. */
export const PLACEHOLDERS = ["port", "model", "concurrency", "seed", "gpus", "rank", "output_dir"] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];
export type PlaceholderValues = Partial<Record<Placeholder, string | number>>;

/**
 * `{name}` is a placeholder, `{{name}}` the text `{name}`. Braces round anything but letters, digits and `_` are text:
 * engines take JSON as an argument (`--hf-overrides {"num_hidden_layers": 4}`).
 */
const IN_BRACES = /\{\{(\w+)\}\}|\{(\w+)\}/g;

const isPlaceholder = (name: string): name is Placeholder => PLACEHOLDERS.some((known) => known === name);

/** Names in braces, in order, each once. */
function namesIn(text: string): string[] {
  const names = [...text.matchAll(IN_BRACES)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
  return [...new Set(names)];
}

/** Placeholders that occur in the texts: what an engine's command line depends on. */
export function placeholdersOf(texts: readonly string[]): ReadonlySet<Placeholder> {
  return new Set(texts.flatMap(namesIn).filter(isPlaceholder));
}

/** Names in braces that are no placeholders. */
export const unknownPlaceholders = (text: string): string[] => namesIn(text).filter((name) => !isPlaceholder(name));

/**
 * The texts with their placeholders filled in. Each text stays one argument, whatever the value holds.
 * @throws Error where a value is missing: `readWorkloads` lets only known placeholders pass, so the caller forgot it.
 */
export function fillIn(texts: readonly string[], values: PlaceholderValues): string[] {
  return texts.map((text) =>
    text.replaceAll(IN_BRACES, (_whole, literal: string | undefined, name: string | undefined) => {
      if (literal !== undefined) return `{${literal}}`;
      const value = name !== undefined && isPlaceholder(name) ? values[name] : undefined;
      if (value === undefined) throw new Error(`no value for the placeholder {${name}} in ${JSON.stringify(text)}`);
      return String(value);
    }),
  );
}
