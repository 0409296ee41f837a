import { err, ok, type Result } from "../../base/result.ts";
import { type WorkloadsFile, workloadsFileSchema } from "../../model/workload.ts";
import { checkWorkloads } from "./checks.ts";
import { readYaml, type WorkloadsProblem } from "./text.ts";

export { type WorkloadsProblem, workloadsProblemText } from "./text.ts";

type Issue = NonNullable<ReturnType<typeof workloadsFileSchema.safeParse>["error"]>["issues"][number];
type Path = readonly PropertyKey[];

const MAX_PROBLEMS = 100;

/**
 * Reads workloads.yaml. Defaults are filled in; what the schema refuses, placeholders that do not exist, names that occur
 * twice and patterns that do not compile are all told at once, each with its line, its path, what was expected and given.
 * @param path names the file in problems
 */
export function readWorkloads(text: string, path: string): Result<WorkloadsFile, WorkloadsProblem[]> {
  const yaml = readYaml(text, path);
  if (!yaml.ok) return yaml;
  const { value, lineOf } = yaml.value;
  const parsed = workloadsFileSchema.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues.slice(0, MAX_PROBLEMS).flatMap((issue): WorkloadsProblem[] => {
      if (issue.code === "unrecognized_keys") {
        // To find the line of a key is to look through its map.
        return issue.keys.slice(0, MAX_PROBLEMS).map((key) => ({
          file: path,
          line: lineOf(issue.path, key),
          path: pathText([...issue.path, key]),
          expected: "only fields of docs/workloads.md",
          given: `the field ${JSON.stringify(key)}`,
        }));
      }
      return [
        {
          file: path,
          line: lineOf(issue.path),
          path: pathText(issue.path),
          expected: expectedBy(issue),
          given: shown(issue.path, value),
        },
      ];
    });
    return err(inOrder(problems));
  }
  const found = checkWorkloads(parsed.data).map((problem) => ({
    file: path,
    line: lineOf(problem.path),
    path: pathText(problem.path),
    expected: problem.expected,
    given: problem.given,
  }));
  return found.length > 0 ? err(inOrder(found)) : ok(parsed.data);
}

function inOrder(problems: WorkloadsProblem[]): WorkloadsProblem[] {
  const order = (a: WorkloadsProblem, b: WorkloadsProblem) =>
    (a.line ?? 0) - (b.line ?? 0) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  return problems.sort(order).slice(0, MAX_PROBLEMS);
}

const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );

const UNITS: Readonly<Record<string, string>> = { string: " characters", array: " entries" };

function expectedBy(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? "a whole number" : withArticle(issue.expected);
    case "invalid_value":
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.map(String).join(", ")}`;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options) ? `one of ${issue.options.join(", ")}` : issue.message;
    case "too_small":
      return `${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${UNITS[issue.origin] ?? ""}`;
    case "too_big":
      return `${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${UNITS[issue.origin] ?? ""}`;
    case "invalid_format":
      return issue.format === "starts_with" && "prefix" in issue
        ? `text that starts with ${String(issue.prefix)}`
        : issue.message.replace(/^expected /, "");
    default:
      return issue.message;
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = { object: "a map", record: "a map", array: "a list" };

const withArticle = (type: string): string => TYPE_NAMES[type] ?? `a ${type}`;

/** What stands at a path; of a variable only its type, since its value may be a secret. */
function shown(path: Path, value: unknown): string {
  let at = value;
  for (const part of path)
    at =
      typeof at === "object" && at !== null && Object.hasOwn(at, part)
        ? (at as Record<PropertyKey, unknown>)[part]
        : undefined;
  if (at === undefined || at === null) return "nothing";
  if (path.includes("env")) return withArticle(Array.isArray(at) ? "array" : typeof at);
  if (Array.isArray(at)) return at.length === 0 ? "an empty list" : "a list";
  if (typeof at === "object") {
    const [[key, inside] = [], ...more] = Object.entries(at);
    // In YAML an unquoted {port} is a map with the key `port`.
    return more.length === 0 && key !== undefined && inside === null ? `a map; quote it: "{${key}}"` : "a map";
  }
  const text = JSON.stringify(at) ?? String(at);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
