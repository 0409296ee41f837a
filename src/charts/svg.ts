import { visibleText } from "./visible-text.ts";

/** Text and attribute values of an SVG document: nothing invisible, no markup. */
export function escapeXml(text: string): string {
  return visibleText(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** A coordinate with at most two decimals: the same bytes for the same picture. */
export function coordinate(value: number): string {
  const text = value.toFixed(2).replace(/\.?0+$/, "");
  return text === "-0" ? "0" : text;
}

export type Attributes = Readonly<Record<string, string | number>>;

/** One element; text children are escaped by the caller through `escapeXml` or `textElement`. */
export function element(name: string, attributes: Attributes, children = ""): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === "number" ? coordinate(value) : escapeXml(value)}"`)
    .join("");
  return children === "" ? `<${name}${written}/>` : `<${name}${written}>${children}</${name}>`;
}

/** A text element with its content escaped. */
export const textElement = (content: string, attributes: Attributes): string =>
  element("text", attributes, escapeXml(content));
