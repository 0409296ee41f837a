/**
 * Why a metric has no number. `absent`: the report does not list it. `no_data`: listed without a value and without
 * instances. `instances_only`: no aggregate, but instance values exist. `nan`, `infinite`: the tool wrote one of these.
 * `not_available`: the tool does not know the metric on this chip. `not_a_number`: it holds text.
 */
export type Absence = "absent" | "no_data" | "instances_only" | "nan" | "infinite" | "not_available" | "not_a_number";

/**
 * The metrics of one launch, by NVIDIA's names, in base units (ns, byte, hz, byte/s, %, inst, cycle). Missing is null,
 * never 0: 0 is a measurement.
 */
export interface MetricSet {
  /** The finite number of a metric, else null. Where a report lists a metric twice the last value counts. */
  number(name: string): number | null;
  /** The text of a metric that holds text (names, policies, breakdown lists), else null. */
  text(name: string): string | null;
  /** Why `number` is null; null where there is a number. */
  absence(name: string): Absence | null;
  /**
   * Half a unit of the last printed digit, in the metric's base unit: how far the number may be from what was
   * measured. 0 for a report, which holds full precision.
   */
  resolution(name: string): number;
  /** All names that the report lists for this launch, in the order of the report. */
  names(): Iterable<string>;
}
