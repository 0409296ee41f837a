import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Metrics of one service. Labels are bounded: route templates, states, codes; never ids, names or paths. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts an answer. `seconds`: how long it took; null where it was asked to wait, since waiting is not latency. */
  answered(route: string, method: string, status: number, seconds: number | null): void;
  readonly profilesEnded: Counter<"state" | "code">;
  readonly analysisDuration: Histogram<never>;
}

/** What is asked for at each scrape. */
export interface MetricSources {
  queueJobs(): Promise<Record<string, number>>;
  profilesByState(): Promise<readonly { readonly state: string; readonly count: number }[]>;
}

const PREFIX = "profile_kernel_";

export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  // The default looks at the event loop 100 times a second, which is most of what an idle service does.
  collectDefaultMetrics({ register: registry, prefix: PREFIX, eventLoopMonitoringPrecision: 100 });
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}build_info`,
    help: "1, with the version as label",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  const requests = new Counter({
    name: `${PREFIX}http_requests_total`,
    help: "Answered HTTP requests",
    labelNames: ["route", "method", "status_class"],
    registers,
  });
  const durations = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: "Time to answer, without requests that were asked to wait",
    labelNames: ["route", "method"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return {
    registry,
    answered(route, method, status, seconds) {
      requests.inc({ route, method, status_class: `${Math.floor(status / 100)}xx` });
      if (seconds !== null) durations.observe({ route, method }, seconds);
    },
    profilesEnded: new Counter({
      name: `${PREFIX}profiles_ended_total`,
      help: "Profiles that an analysis of this process ended, by final state and failure code",
      labelNames: ["state", "code"],
      registers,
    }),
    analysisDuration: new Histogram({
      name: `${PREFIX}analysis_duration_seconds`,
      help: "Reading and analysing the reports of one profile",
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
      registers,
    }),
  };
}

/** Adds the gauges that are read from queue and database at each scrape. A source that is away leaves its gauge out. */
export function observeSources({ registry }: Metrics, sources: MetricSources): void {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}queue_jobs`,
    help: "Jobs in a queue by state",
    labelNames: ["queue", "state"],
    registers,
    async collect() {
      this.reset();
      const counts = await sources.queueJobs().catch(() => ({}));
      for (const [state, count] of Object.entries(counts)) this.set({ queue: "analysis", state }, count);
    },
  });
  new Gauge({
    name: `${PREFIX}profiles`,
    help: "Profiles by state",
    labelNames: ["state"],
    registers,
    async collect() {
      this.reset();
      const counts = await sources.profilesByState().catch(() => []);
      for (const { state, count } of counts) this.set({ state }, count);
    },
  });
}
