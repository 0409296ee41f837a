import type { RouteOptions } from "fastify";

/** Remembers which methods each path has, so that a wrong method is told from a wrong path (405 and 404). */
export class KnownRoutes {
  readonly #methods = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  add({ url, method }: RouteOptions): void {
    const known = this.#methods.get(url) ?? { pattern: pattern(url), methods: new Set() };
    for (const name of [method].flat()) known.methods.add(name.toUpperCase());
    this.#methods.set(url, known);
  }

  /** Methods of the path, sorted; none where there is no such path. */
  methods(url: string): string[] {
    const path = url.split("?", 1)[0] ?? url;
    const found = [...this.#methods.values()]
      .filter((known) => known.pattern.test(path))
      .flatMap((known) => [...known.methods]);
    return [...new Set(found)].sort();
  }
}

/** `/profiles/:id/result` and `/docs/*` as regular expressions. */
function pattern(url: string): RegExp {
  const parts = url
    .split("/")
    .map((part) =>
      part.startsWith(":") ? "[^/]+" : part === "*" ? ".*" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
    );
  return new RegExp(`^${parts.join("/")}$`);
}
