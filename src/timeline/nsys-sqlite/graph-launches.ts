interface Launch {
  readonly graph: string;
  kernels: number;
}

/** Kernels of graph launches, to see launches of one graph that were recorded with different numbers of them. */
export class GraphLaunches {
  readonly #processes = new Map<
    number,
    {
      readonly launches: Map<number, Launch>;
      /** Exports before 2025.6 have no graph id, but a node keeps its id from launch to launch. */
      readonly graphOfNode: Map<number, string>;
    }
  >();

  /** Takes in one kernel. @param graph NaN where not recorded. */
  add(process: number, correlation: number, node: number, graph: number): void {
    let known = this.#processes.get(process);
    if (known === undefined) {
      known = { launches: new Map(), graphOfNode: new Map() };
      this.#processes.set(process, known);
    }
    let launch = known.launches.get(correlation);
    if (launch === undefined) {
      const name = Number.isFinite(graph) ? `graph ${graph}` : known.graphOfNode.get(node);
      launch = { graph: name ?? `of launch ${correlation}`, kernels: 0 };
      known.launches.set(correlation, launch);
    }
    launch.kernels++;
    if (!known.graphOfNode.has(node)) known.graphOfNode.set(node, launch.graph);
  }

  /** The fewest and the most kernels of a graph, of that graph where they differ most; null where they never do. */
  widest(): { readonly min: number; readonly max: number } | null {
    let widest: { min: number; max: number } | null = null;
    for (const { launches } of this.#processes.values()) {
      const graphs = new Map<string, { min: number; max: number }>();
      for (const { graph, kernels } of launches.values()) {
        const known = graphs.get(graph);
        if (known === undefined) graphs.set(graph, { min: kernels, max: kernels });
        else {
          known.min = Math.min(known.min, kernels);
          known.max = Math.max(known.max, kernels);
        }
      }
      for (const range of graphs.values()) {
        const spread = range.max - range.min;
        if (spread > 0 && (widest === null || spread > widest.max - widest.min)) widest = range;
      }
    }
    return widest;
  }
}
