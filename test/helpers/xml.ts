/** An element of a parsed document. Text content is decoded. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const NAME = "[A-Za-z_][\\w.:-]*";
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/**
 * A strict reader for the part of XML 1.0 that charts use: elements, double-quoted attributes, the five entities.
 * Everything else (a stray `<` or `&`, an attribute twice, a character outside XML's Char production, unbalanced tags)
 * throws.
 */
export function parseXml(document: string): XmlElement {
  const illegal = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u.exec(document);
  if (illegal)
    throw new Error(`character ${illegal[0].codePointAt(0)?.toString(16)} at ${illegal.index} is not allowed`);
  let at = 0;
  const take = (pattern: string): RegExpExecArray | null => {
    const found = new RegExp(pattern, "uy");
    found.lastIndex = at;
    const match = found.exec(document);
    if (match) at = found.lastIndex;
    return match;
  };
  const fail = (what: string): never => {
    throw new Error(`${what} at ${at}: ${document.slice(at, at + 60)}`);
  };
  const decode = (text: string): string =>
    text.replace(/&([^;]*;?)/g, (_, entity: string) => ENTITIES[entity.replace(/;$/, "")] ?? fail(`entity &${entity}`));

  const element = (): XmlElement => {
    const name = take(`<(${NAME})`)?.[1] ?? fail("expected an element");
    const attributes: Record<string, string> = {};
    for (let match = take(`\\s+(${NAME})="([^<"]*)"`); match; match = take(`\\s+(${NAME})="([^<"]*)"`)) {
      const [, key = "", value = ""] = match;
      if (key in attributes) fail(`attribute ${key} twice`);
      attributes[key] = decode(value);
    }
    if (take("\\s*/>")) return { name, attributes, children: [], text: "" };
    if (!take("\\s*>")) fail(`expected the end of <${name}>`);
    const children: XmlElement[] = [];
    let text = "";
    while (!take(`</${name}\\s*>`)) {
      const characters = take("[^<]+");
      if (characters) text += decode(characters[0]);
      else if (document.startsWith("</", at) || at >= document.length) fail(`<${name}> is not closed`);
      else children.push(element());
    }
    return { name, attributes, children, text };
  };

  const root = element();
  take("\\s*");
  if (at !== document.length) fail("text behind the root element");
  return root;
}

/** All elements below and including `root`, in document order. */
export function* elements(root: XmlElement): Generator<XmlElement> {
  yield root;
  for (const child of root.children) yield* elements(child);
}
