const DESCRIPTIONS = {
  location: "Path of what was made",
  "retry-after": "Seconds after which asking again makes sense",
  link: 'The next page, as rel="next"',
  etag: "Changes whenever the representation does",
  "preference-applied": "The `wait` that was honoured, in seconds",
  "content-disposition": "A file name",
  "content-range": "Which part of the file this is",
  "repr-digest": "SHA-256 of the whole file (RFC 9530)",
} as const;

type DocumentedHeader = keyof typeof DESCRIPTIONS;

/** For the schema of a route: which headers its answers carry, by status. */
export const HEADERS = (byStatus: Readonly<Record<number, readonly DocumentedHeader[]>>): object => ({
  "x-response-headers": Object.fromEntries(
    Object.entries(byStatus).map(([status, names]) => [
      status,
      Object.fromEntries(names.map((name) => [name, { description: DESCRIPTIONS[name], schema: { type: "string" } }])),
    ]),
  ),
});
