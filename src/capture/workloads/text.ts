import { CST, type Document, isAlias, isMap, isNode, isScalar, Lexer, LineCounter, parseDocument, visit } from "yaml";
import { err, ok, type Result } from "../../base/result.ts";

/** What is wrong with workloads.yaml, and where. */
export interface WorkloadsProblem {
  /** The file, as its path was given. */
  readonly file: string;
  /** From 1; null where the problem is not in a line. */
  readonly line: number | null;
  /** `workloads[0].load.batch`; empty for the whole file. */
  readonly path: string;
  readonly expected: string;
  readonly given: string;
}

/** A problem as a sentence for the operator. */
export function workloadsProblemText({ file, line, path, expected, given }: WorkloadsProblem): string {
  return `${file}${line === null ? "" : `:${line}`}: ${path === "" ? "" : `${path}: `}expected ${expected}; given: ${given}`;
}

/** The value of a YAML text, and where its parts stand. */
export interface LocatedYaml {
  readonly value: unknown;
  /** Line of what is at a path, of its nearest parent where it does not exist; with a key: of that key. */
  lineOf(path: readonly PropertyKey[], key?: string): number | null;
}

export const MAX_WORKLOADS_BYTES = 1024 * 1024;
/** Far more than a declaration needs; deeper nesting makes the YAML parser recurse until the process dies. */
const MAX_DEPTH = 64;
const MAX_INDENT = 256;
/** Of the resolved nodes behind one alias (yaml's own measure against "billion laughs"). */
const MAX_ALIASES = 100;
const MAX_PROBLEMS = 20;

/** Reads a YAML text of bounded size, depth and aliases; keys that occur twice are refused. */
export function readYaml(text: string, file: string): Result<LocatedYaml, WorkloadsProblem[]> {
  const whole = (expected: string, given: string): Result<LocatedYaml, WorkloadsProblem[]> =>
    err([{ file, line: null, path: "", expected, given }]);
  if (text.length > MAX_WORKLOADS_BYTES || Buffer.byteLength(text) > MAX_WORKLOADS_BYTES)
    return whole(`at most ${MAX_WORKLOADS_BYTES} bytes`, `${Buffer.byteLength(text)} bytes`);
  const deep = nestedTooDeep(text);
  if (deep !== null)
    return err([{ file, line: deep, path: "", expected: `at most ${MAX_DEPTH} levels`, given: "deeper nesting" }]);

  const lines = new LineCounter();
  const lineAt = (offset: number | undefined): number | null =>
    offset === undefined ? null : lines.linePos(offset).line;
  try {
    // Its check for keys that occur twice takes quadratic time.
    const document = parseDocument(text, {
      lineCounter: lines,
      uniqueKeys: false,
      prettyErrors: false,
      merge: true,
      logLevel: "error",
    });
    const broken = document.errors.slice(0, MAX_PROBLEMS).map((error) => ({
      file,
      line: lineAt(error.pos[0]),
      path: "",
      expected: "YAML",
      given: cut(error.message),
    }));
    const problems = broken.length > 0 ? broken : [...keysTwice(document, file, lineAt)];
    if (problems.length > 0) return err(problems);
    return ok({
      value: document.toJS({ maxAliasCount: MAX_ALIASES }),
      lineOf: (path, key) => lineAt(offsetOf(document, path, key)),
    });
  } catch (error) {
    // toJS throws for an alias without an anchor and for too many of them; RangeError: the stack is used up.
    return whole(
      "YAML without unknown or excessive aliases",
      cut(error instanceof Error ? error.message : String(error)),
    );
  }
}

const cut = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Line at which the text is nested deeper than allowed, or null. The lexer does not recurse. */
function nestedTooDeep(text: string): number | null {
  let line = 1;
  let flow = 0;
  let inLine = 0;
  for (const token of new Lexer().lex(text)) {
    const type = CST.tokenType(token);
    if (type === "flow-seq-start" || type === "flow-map-start") flow++;
    else if (type === "flow-seq-end" || type === "flow-map-end") flow = Math.max(0, flow - 1);
    else if (type === "seq-item-ind" || type === "explicit-key-ind") inLine++;
    else if (type === "map-value-ind") inLine += flow === 0 ? 1 : 0;
    else if (type === "newline") inLine = 0;
    if (flow > MAX_DEPTH || inLine > MAX_DEPTH || (type === "space" && inLine === 0 && token.length > MAX_INDENT))
      return line;
    for (let at = token.indexOf("\n"); at >= 0; at = token.indexOf("\n", at + 1)) line++;
  }
  return null;
}

function keysTwice(document: Document, file: string, lineAt: (offset?: number) => number | null): WorkloadsProblem[] {
  const problems: WorkloadsProblem[] = [];
  visit(document, {
    Map(_key, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : null;
        if (name === null || name === "<<" || !seen.has(name)) {
          seen.add(name);
          continue;
        }
        const line = lineAt(isNode(key) ? key.range?.[0] : undefined);
        problems.push({ file, line, path: String(name), expected: "each key once", given: "the key a second time" });
        if (problems.length >= MAX_PROBLEMS) return visit.BREAK;
      }
      return undefined;
    },
  });
  return problems;
}

/** Offset of the node at a path, or of the nearest node above it. */
function offsetOf(document: Document, path: readonly PropertyKey[], key?: string): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    let node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isAlias(node)) node = node.resolve(document);
    if (!isNode(node)) continue;
    if (key !== undefined && length === path.length && isMap(node)) {
      const found = node.items.find((pair) => isScalar(pair.key) && pair.key.value === key)?.key;
      if (isNode(found) && found.range) return found.range[0];
    }
    if (node.range) return node.range[0];
  }
  return undefined;
}
