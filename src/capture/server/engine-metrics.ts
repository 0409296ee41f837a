/** One line of a Prometheus text. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Engines with many label sets stay far below. */
const MAX_SAMPLES = 100_000;

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^\s*,?\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"/;
const NUMBER = /^\s*}?\s*(\S+)/;
const ESCAPES: Readonly<Record<string, string>> = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

/**
 * Samples of a text in Prometheus' exposition format (version 0.0.4), also of OpenMetrics: comments, time stamps and
 * exemplars are passed over, and so are lines that are not in the format and values that are not finite.
 */
export function readSamples(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    if (samples.length >= MAX_SAMPLES) break;
    const name = NAME.exec(line)?.[0];
    if (name === undefined) continue;
    let rest = line.slice(name.length);
    const labels: Record<string, string> = {};
    if (rest.startsWith("{")) {
      rest = rest.slice(1);
      for (let label = LABEL.exec(rest); label !== null; label = LABEL.exec(rest)) {
        labels[label[1] ?? ""] = (label[2] ?? "").replaceAll(/\\[n"\\]/g, (escaped) => ESCAPES[escaped] ?? escaped);
        rest = rest.slice(label[0].length);
      }
      rest = rest.replace(/^\s*,/, "");
      if (!rest.trimStart().startsWith("}")) continue;
    }
    const value = Number(NUMBER.exec(rest)?.[1] ?? Number.NaN);
    if (Number.isFinite(value)) samples.push({ name, labels, value });
  }
  return samples;
}

/** Relabelling may have replaced the colon; the Python client appends `_total` to a counter's name. */
const nameKey = (name: string): string => name.replaceAll(":", "_").replace(/_total$/, "");

/**
 * Finished requests in a scrape: the first of `names` that is exposed, summed over all its label sets (one for each
 * data-parallel engine and each reason). Where a counter is split by `finished_reason`, only `stop` and `length` count:
 * vLLM counts aborted requests as finished too. Null: none of the names is exposed.
 */
export function readCompleted(
  metricsText: string,
  names: readonly string[],
): { value: number | null; metric: string | null } {
  const samples = readSamples(metricsText);
  for (const name of names) {
    const key = nameKey(name);
    const found = samples.filter((sample) => nameKey(sample.name) === key);
    const first = found[0];
    if (first === undefined) continue;
    const served = found.filter(({ labels }) => ["stop", "length", undefined].includes(labels.finished_reason));
    return { value: served.reduce((sum, { value }) => sum + value, 0), metric: first.name };
  }
  return { value: null, metric: null };
}

/** Requests finished between two scrapes. A counter that fell was reset by a restart: what it shows now came since. */
export function completedBetween(before: number | null, after: number | null): number | null {
  if (after === null) return null;
  return before === null || after < before ? after : after - before;
}

/** True where the text holds series of the engine: it exposes its metrics at all. */
export const hasSeries = (metricsText: string, prefix: string): boolean =>
  readSamples(metricsText).some(({ name }) => name.replaceAll(":", "_").startsWith(prefix.replaceAll(":", "_")));
