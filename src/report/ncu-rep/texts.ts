/**
 * Makes equal texts of a report one string: names of kernels, rules and ranges repeat from launch to launch. `bytes` is
 * what the texts take, roughly.
 */
export class Texts {
  readonly #texts = new Map<string, string>();
  bytes = 0;

  keep(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    this.bytes += 2 * text.length + 64;
    return text;
  }
}
