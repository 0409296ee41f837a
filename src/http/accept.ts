/**
 * True where one of the offered media types is acceptable (RFC 9110, section 12.5.1): a range with weight 0 refuses,
 * the most specific range counts.
 */
export function accepts(header: string | undefined, offered: readonly string[]): boolean {
  if (header === undefined || header === "" || header === "*/*") return true;
  const ranges = header.split(",").map((part) => {
    const [range = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return { range, weight: weight === undefined ? 1 : Number(weight.slice(2)) };
  });
  return offered.some((type) => {
    const group = `${type.split("/", 1)[0]}/*`;
    const match = [type, group, "*/*"]
      .map((wanted) => ranges.find(({ range }) => range === wanted))
      .find((found) => found !== undefined);
    return match !== undefined && match.weight > 0;
  });
}
