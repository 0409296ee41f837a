import { RE2JS } from "re2js";
import type { Workload, WorkloadsFile } from "../../model/workload.ts";
import { PLACEHOLDERS, placeholdersOf, unknownPlaceholders } from "./placeholders.ts";

/** A problem before it is known in which line it stands. */
export interface Finding {
  readonly path: readonly (string | number)[];
  readonly expected: string;
  readonly given: string;
}

/** Fields that the load generator sets itself: its counts would be wrong with others. */
const FIELDS_OF_THE_LOAD = ["prompt", "max_tokens", "min_tokens", "n", "best_of", "stream", "stream_options", "echo"];

/** What a schema cannot say about workloads.yaml. In the order of the file. */
export function checkWorkloads(file: WorkloadsFile): Finding[] {
  const first = new Map<string, number>();
  return file.workloads.flatMap((workload, index) => {
    const at = (found: Finding): Finding => ({ ...found, path: ["workloads", index, ...found.path] });
    const earlier = first.get(workload.name);
    if (earlier === undefined) first.set(workload.name, index);
    const twice: Finding[] =
      earlier === undefined
        ? []
        : [
            {
              path: ["name"],
              expected: "a name that no other workload has",
              given: `${JSON.stringify(workload.name)}, the name of workloads[${earlier}]`,
            },
          ];
    return [...twice, ...placeholders(workload), ...variables(workload), ...patterns(workload), ...load(workload)].map(
      at,
    );
  });
}

interface Place {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

const listed = (name: string, texts: readonly string[]): Place[] =>
  texts.map((text, index) => ({ path: [name, index], text }));

/** Where placeholders are filled in; variables are handed on as they stand. */
const argumentsOf = (workload: Workload): Place[] => [
  ...listed("argv", workload.argv),
  ...(workload.kind === "server" ? listed("counter_args", workload.counter_args) : []),
];

function placeholders(workload: Workload): Finding[] {
  const texts = argumentsOf(workload);
  const known = PLACEHOLDERS.map((name) => `{${name}}`).join(" ");
  const unknown = texts.flatMap(({ path, text }) =>
    unknownPlaceholders(text).map((name) => ({
      path,
      expected: `one of ${known}, or {{${name}}} for the text {${name}}; there is no shell and no variable`,
      given: `{${name}}`,
    })),
  );
  if (workload.kind === "server") return unknown;
  const ports = texts.filter(({ text }) => placeholdersOf([text]).has("port"));
  return [
    ...unknown,
    ...ports.map(({ path }) => ({ path, expected: "no {port}: only a server has one", given: "{port}" })),
  ];
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What cannot be handed to a process at all. Values of variables are not shown: they may be secrets. */
function variables(workload: Workload): Finding[] {
  const expected = "a variable's name: letters, digits and _, no digit first";
  const names: Place[] = [
    ...Object.keys(workload.env).map((text) => ({ path: ["env", text], text })),
    ...listed("pass_env", workload.pass_env),
  ];
  const texts = [
    ...argumentsOf(workload),
    ...Object.entries(workload.env).map(([name, text]) => ({ path: ["env", name], text })),
    ...listed("files", workload.files),
    ...(workload.cwd === undefined ? [] : [{ path: ["cwd"], text: workload.cwd }]),
  ];
  return [
    ...names
      .filter(({ text }) => !VARIABLE.test(text))
      .map(({ path, text }) => ({ path, expected, given: JSON.stringify(text) })),
    ...texts
      .filter(({ text }) => text.includes("\0"))
      .map(({ path }) => ({ path, expected: "text without U+0000", given: "U+0000" })),
  ];
}

function patterns(workload: Workload): Finding[] {
  const { warm_up } = workload;
  const places: Place[] =
    "log_pattern" in warm_up && warm_up.log_pattern !== undefined
      ? [{ path: ["warm_up", "log_pattern"], text: warm_up.log_pattern }]
      : "log_patterns" in warm_up
        ? (warm_up.log_patterns ?? []).map((text, index) => ({ path: ["warm_up", "log_patterns", index], text }))
        : [];
  return places.flatMap(({ path, text }) => {
    try {
      RE2JS.compile(text);
      return [];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return [{ path, expected: "a regular expression (RE2 syntax)", given: `${JSON.stringify(text)} (${why})` }];
    }
  });
}

function load(workload: Workload): Finding[] {
  if (workload.kind !== "server") return [];
  return FIELDS_OF_THE_LOAD.filter((field) => Object.hasOwn(workload.load.body, field)).map((field) => ({
    path: ["load", "body", field],
    expected:
      "fields that the load does not set itself (prompt_tokens, output_tokens and batch say how long and how many)",
    given: JSON.stringify(field),
  }));
}
