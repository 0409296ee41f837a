// biome-ignore-all lint: generated
// biome-ignore-all format: generated
// biome-ignore-all assist: generated
/** Types of the API for clients, made from openapi.json by `npm run generate`. */
export interface paths {
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process answers */
        get: operations["livez"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process may take traffic */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/problems/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a problem type means */
        get: operations["problemType"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a report or a timeline
         * @description The body is the file itself: `.ncu-rep`, `.ncu-repz`, a CSV page of `ncu --csv` (`raw` or `details`); or a timeline: the SQLite of `nsys export`, what `nsys stats` printed, JSON of torch's profiler. As it is or compressed with gzip or zstd. What it is, is seen from its bytes. The same bytes again give the same id, with 200. A `.nsys-rep` is refused with the command that exports it.
         */
        post: operations["uploadReport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/reports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is known of an uploaded report or timeline */
        get: operations["getReport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Profiles, newest first */
        get: operations["listProfiles"];
        put?: never;
        /** Ask for a profile */
        post: operations["submitProfile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A profile, at once or when its state changes
         * @description `?wait=30` or `Prefer: wait=30` answers as soon as the state changes, at the latest after that many seconds. A profile that has failed is a 200 as well: see `failure`.
         */
        get: operations["getProfile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a profile
         * @description Cancelling a canceled profile changes nothing and is no error; one that has succeeded or failed answers 409.
         */
        post: operations["cancelProfile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The verdicts */
        get: operations["getResult"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/roofline.svg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The kernels under their roofs, as a picture */
        get: operations["getRoofline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/stages.svg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The stages of the pipeline by their share of the busy time, as a picture */
        get: operations["getStagesPicture"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/timeline.svg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** When the GPU was busy, with which stage, as a picture */
        get: operations["getTimelinePicture"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A report of the profile, byte for byte
         * @description Needs the permission `raw_artifacts` beside the role: reports hold command lines, paths and compiled code.
         */
        get: operations["getReportBytes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A timeline of the profile, byte for byte
         * @description Needs the permission `raw_artifacts` beside the role: uploaded timelines hold the environment, command lines and paths of the machine. That of a capture does not: the worker takes them out before it hands the file in.
         */
        get: operations["getTimelineBytes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/trace.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The timelines of the profile for chrome://tracing and ui.perfetto.dev
         * @description Trace Event Format: launches, copies, gaps of 10 us and more, ranges of the host; each launch with its stage and, where its kernel is listed in the result, share and verdict of its cluster. Made anew for each request.
         */
        get: operations["getTrace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the capture and the programs that it ran have printed
         * @description Needs the permission `raw_artifacts` beside the role: a log holds what a program prints.
         */
        get: operations["getLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A worker begins a capture, or tells how far it is
         * @description `begin` starts a new attempt, which every later call names. `superseded` means: stop, the profile has ended or another attempt has it.
         */
        post: operations["tellCapture"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/outcome": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A worker ends a capture
         * @description The reports and timelines that it names are analysed. The same attempt's outcome again changes nothing and answers 200.
         */
        post: operations["finishCapture"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/profiles/{id}/artifacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * A worker hands in a file of its capture
         * @description Streamed and hashed; with the header `Content-Digest: sha-256=:…:` (RFC 9530) checked against it. Of two with the same name the newest stays. Taken until ten minutes after the profile has ended, so that a canceled run leaves its files; after the outcome only the log.
         */
        put: operations["putArtifact"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A worker */
        get: operations["getWorker"];
        /** Register a worker, and its heartbeat */
        put: operations["putWorker"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Workers with their GPUs, tools and workloads, by id
         * @description A worker that stops sending heartbeats is shown as `lost`, for a week.
         */
        get: operations["listWorkers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Workloads that workers declare, by name
         * @description One name that stands for different things on different workers has an entry for each.
         */
        get: operations["listWorkloads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/leases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Leases that are held or wait, in the order of their requests */
        get: operations["listLeases"];
        put?: never;
        /**
         * Ask for the exclusive right to GPUs
         * @description All GPUs are taken at once or none, in the order of the requests. `?wait=30` or `Prefer: wait=30` waits that long for them. Until it is held, it is kept alive by asking for it; then by PATCH. It ends when nobody does so within `ttl_s`, also when the client closes the connection before the answer.
         */
        post: operations["requestLease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/leases/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A lease, at once or when it is held
         * @description Asking keeps its place while it waits, if whoever asked for the lease does it. One that has ended is shown for an hour.
         */
        get: operations["getLease"];
        put?: never;
        post?: never;
        /**
         * End a lease, or give up its place
         * @description Ending it again changes nothing and is no error. Only the key that asked for it may, and an admin: what runs under the lease of a worker is then stopped.
         */
        delete: operations["releaseLease"];
        options?: never;
        head?: never;
        /**
         * Renew a lease
         * @description Its ttl starts anew. Only the key that asked for it may, and an admin.
         */
        patch: operations["renewLease"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Alive: {
            /** @constant */
            status: "ok";
        };
        Artifact: {
            name: string;
            sha256: string;
            bytes: number;
        };
        CaptureEvent: {
            /** @constant */
            type: "begin";
            worker_id: string;
        } | {
            /** @constant */
            type: "state";
            worker_id: string;
            attempt: number;
            /** @description fencing token of the lease; null until there is one */
            lease_token: number | null;
            /** @enum {string} */
            state: "waiting_for_gpu" | "warming_up" | "capturing";
            progress: {
                phase: string;
                done: number | null;
                total: number | null;
                message: string | null;
            } | null;
        } | {
            /** @constant */
            type: "progress";
            worker_id: string;
            attempt: number;
            /** @description fencing token of the lease; null until there is one */
            lease_token: number | null;
            progress: {
                phase: string;
                done: number | null;
                total: number | null;
                message: string | null;
            };
        };
        CaptureOrder: {
            attempt: number;
            request: components["schemas"]["ResolvedProfileRequest"];
            /** @description name in workloads.yaml; null: the request brings a command */
            workload: string | null;
            session_id: string | null;
        };
        CaptureRecord: {
            worker_id: string;
            attempt: number;
            workload: string | null;
            /** @enum {string} */
            workload_kind: "benchmark" | "server" | "command";
            workload_sha256: string | null;
            /**
             * @description warm: attached to an engine that runs on; per_tool: started for each tool; none: a program that ends
             * @enum {string}
             */
            engine_session: "warm" | "per_tool" | "none";
            /** @description why not warm */
            engine_session_reason: string | null;
            /** @description true: the engine was warm from an earlier profile */
            engine_reused: boolean;
            lease: {
                /** Format: uuid */
                id: string;
                token: number;
                gpus: string[];
                waited_s: number;
            } | null;
            gpus: {
                uuid: string;
                name: string;
                driver_version: string;
            }[];
            tools: {
                ncu: string | null;
                nsys: string | null;
            };
            concurrency: {
                requested: number;
                /** @description requests at a time under ncu: 1 or 4; null: a benchmark program keeps its own */
                in_flight: number | null;
                /** @description prompts inside one request */
                batch: number | null;
                rule: string;
            };
            preflight: {
                gpu: string;
                counters_permitted: boolean | null;
                other_processes: number | null;
                memory_used_bytes: number | null;
                memory_total_bytes: number | null;
                sm_clock_hz: number | null;
                sm_clock_max_hz: number | null;
                throttle_reasons: string[] | null;
                persistence_mode: boolean | null;
                mig: boolean | null;
                disk_free_bytes: number | null;
                null_reasons: {
                    [key: string]: string;
                };
            }[];
            warm_up: {
                completed_by_load: number | null;
                completed_by_engine: number | null;
                engine_metric: string | null;
                log_patterns: {
                    pattern: string;
                    line: string | null;
                }[];
                skipped_launches: number | null;
                took_s: number | null;
                /** @description in words */
                evidence: string;
            } | null;
            plan: {
                survey_launches: number | null;
                /** @description launches of the survey whose time was taken; each of the others has that of the nearest of its shape */
                timed_launches: number | null;
                clusters: {
                    kernel: string;
                    grid: string;
                    block: string;
                    launches: number;
                    median_us: number;
                    total_us: number;
                    /** @description ordinals among the launches of the kernel's name, from 1 */
                    chosen: number[];
                }[] | null;
                /** @description times of every launch that the survey saw, by kernel; null: there was no survey */
                kernels: {
                    kernel: string;
                    n: number;
                    total_us: number;
                    mean_us: number;
                    median_us: number;
                    p90_us: number;
                    min_us: number;
                    max_us: number;
                    spread: number | null;
                }[] | null;
                /** @description launches that were to get counters */
                launches: number | null;
                passes: number | null;
                reason: string;
            } | null;
            /**
             * @description of a full pipeline; null: one kernel was measured
             * @default null
             */
            pipeline: components["schemas"]["PipelinePlan"] | null;
            runs: {
                /** @enum {string} */
                tool: "ncu" | "nsys";
                /**
                 * @description shapes: every launch without its time; survey: times; counters: counters; timeline: the recording of a run; export: of that recording
                 * @enum {string}
                 */
                purpose: "shapes" | "survey" | "counters" | "timeline" | "export";
                /** @description redacted: options of the tool and the program's name */
                argv: string[];
                exit_code: number | null;
                signal: string | null;
                /** @description itself, count_reached, time_limit, stall, canceled, lease_lost, disk_full, output_limit */
                ended_by: string;
                took_s: number;
                /** @description from the start of the tool to its first line about a launch */
                first_launch_after_s: number | null;
                launches: number | null;
            }[];
            /** @description from the lease to the start of ncu: what the service itself took */
            own_time_s: number | null;
        };
        CaptureRecordInput: {
            worker_id: string;
            attempt: number;
            workload: string | null;
            /** @enum {string} */
            workload_kind: "benchmark" | "server" | "command";
            workload_sha256: string | null;
            /**
             * @description warm: attached to an engine that runs on; per_tool: started for each tool; none: a program that ends
             * @enum {string}
             */
            engine_session: "warm" | "per_tool" | "none";
            /** @description why not warm */
            engine_session_reason: string | null;
            /** @description true: the engine was warm from an earlier profile */
            engine_reused: boolean;
            lease: {
                /** Format: uuid */
                id: string;
                token: number;
                gpus: string[];
                waited_s: number;
            } | null;
            gpus: {
                uuid: string;
                name: string;
                driver_version: string;
            }[];
            tools: {
                ncu: string | null;
                nsys: string | null;
            };
            concurrency: {
                requested: number;
                /** @description requests at a time under ncu: 1 or 4; null: a benchmark program keeps its own */
                in_flight: number | null;
                /** @description prompts inside one request */
                batch: number | null;
                rule: string;
            };
            preflight: {
                gpu: string;
                counters_permitted: boolean | null;
                other_processes: number | null;
                memory_used_bytes: number | null;
                memory_total_bytes: number | null;
                sm_clock_hz: number | null;
                sm_clock_max_hz: number | null;
                throttle_reasons: string[] | null;
                persistence_mode: boolean | null;
                mig: boolean | null;
                disk_free_bytes: number | null;
                null_reasons: {
                    [key: string]: string;
                };
            }[];
            warm_up: {
                completed_by_load: number | null;
                completed_by_engine: number | null;
                engine_metric: string | null;
                log_patterns: {
                    pattern: string;
                    line: string | null;
                }[];
                skipped_launches: number | null;
                took_s: number | null;
                /** @description in words */
                evidence: string;
            } | null;
            plan: {
                survey_launches: number | null;
                /** @description launches of the survey whose time was taken; each of the others has that of the nearest of its shape */
                timed_launches: number | null;
                clusters: {
                    kernel: string;
                    grid: string;
                    block: string;
                    launches: number;
                    median_us: number;
                    total_us: number;
                    /** @description ordinals among the launches of the kernel's name, from 1 */
                    chosen: number[];
                }[] | null;
                /** @description times of every launch that the survey saw, by kernel; null: there was no survey */
                kernels: {
                    kernel: string;
                    n: number;
                    total_us: number;
                    mean_us: number;
                    median_us: number;
                    p90_us: number;
                    min_us: number;
                    max_us: number;
                    spread: number | null;
                }[] | null;
                /** @description launches that were to get counters */
                launches: number | null;
                passes: number | null;
                reason: string;
            } | null;
            /**
             * @description of a full pipeline; null: one kernel was measured
             * @default null
             */
            pipeline: components["schemas"]["PipelinePlanInput"] | null;
            runs: {
                /** @enum {string} */
                tool: "ncu" | "nsys";
                /**
                 * @description shapes: every launch without its time; survey: times; counters: counters; timeline: the recording of a run; export: of that recording
                 * @enum {string}
                 */
                purpose: "shapes" | "survey" | "counters" | "timeline" | "export";
                /** @description redacted: options of the tool and the program's name */
                argv: string[];
                exit_code: number | null;
                signal: string | null;
                /** @description itself, count_reached, time_limit, stall, canceled, lease_lost, disk_full, output_limit */
                ended_by: string;
                took_s: number;
                /** @description from the start of the tool to its first line about a launch */
                first_launch_after_s: number | null;
                launches: number | null;
            }[];
            /** @description from the lease to the start of ncu: what the service itself took */
            own_time_s: number | null;
        };
        Cluster: {
            timing: components["schemas"]["Timing"];
            /** @description null: none has counters */
            median_launch: number | null;
            /** @description with counters: indices in the report */
            launches: number[];
            /** @description how launches with counters were found to be of this cluster of a timeline; plan_ordinal: each is the very launch that the plan asked for, by linker name and number; null: no timeline, or none */
            joined_by: ("plan_ordinal" | "ordinal" | "duration" | "scaled_duration") | null;
            /** @description of the launches with counters, as ncu timed them */
            ncu_median_us: number | null;
            /** @description median under ncu over median in the timeline; with plan_ordinal the median of the launches' own ratios */
            ncu_over_timeline: number | null;
            roofline: ("compute-bound" | "memory-bound" | "latency-bound") | null;
            roofline_null_reason: string | null;
            /** @enum {string} */
            limiter: "tensor" | "fma" | "fp64" | "alu" | "issue" | "lsu" | "l1_shared" | "l2" | "dram" | "nvlink" | "latency" | "tail" | "imbalance" | "launch" | "unknown";
            /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
            memory_bw_utilization: number | null;
            /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
            compute_utilization: number | null;
            /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
            sm_occupancy: number | null;
            tflops: number | null;
            /** @description of the kernel's summed time */
            share_of_kernel: number | null;
        };
        CollectiveTimes: {
            /** @description calls that are the same one on all ranks, the first counted */
            matched_calls: number;
            /** @description sum over the matched calls of the shortest duration of all ranks, that is of one rank, without the first call */
            transfer_us: number | null;
            /** @description what the ranks took longer, summed over calls and ranks; null_reason says why not known */
            waiting_us: number | null;
            by_rank: {
                /** @description which process on which GPU */
                rank: string;
                calls: number;
                total_us: number;
                waiting_us: number | null;
            }[];
            /** @description the first matched call: recordings that begin at different moments put their difference into it */
            first: {
                durations_us: number[];
                transfer_us: number;
                waiting_us: number[];
            } | null;
            null_reason: string | null;
        };
        DeclaredWorkload: {
            name: string;
            /** @enum {string} */
            kind: "benchmark" | "server";
            description: string | null;
            model: string;
            aliases: string[];
            /** @enum {string} */
            engine: "vllm" | "sglang" | "none";
            gpus: number;
            /** @description hash over the declaration and the files it names: changes when what would run changes */
            sha256: string;
        };
        DeclaredWorkloadInput: {
            name: string;
            /** @enum {string} */
            kind: "benchmark" | "server";
            description: string | null;
            model: string;
            aliases: string[];
            /** @enum {string} */
            engine: "vllm" | "sglang" | "none";
            gpus: number;
            /** @description hash over the declaration and the files it names: changes when what would run changes */
            sha256: string;
        };
        Failure: {
            /** @enum {string} */
            code: "report_unreadable" | "report_missing" | "timeline_unreadable" | "timeline_no_kernels" | "timeline_graph_level_only" | "timeline_incomplete" | "timeline_merged_ranks" | "timeline_degenerate" | "timeline_not_comparable" | "timeline_window_invalid" | "timeline_window_not_found" | "timeline_window_empty" | "no_matching_kernel" | "no_kernels_profiled" | "analysis_timeout" | "analysis_crashed" | "no_worker" | "worker_lost" | "worker_stopped" | "workload_changed" | "preflight_failed" | "gpu_busy" | "lease_lost" | "tool_missing" | "injection_slot_taken" | "program_missing" | "engine_start_failed" | "engine_died" | "warmup_failed" | "counters_not_permitted" | "counters_in_use" | "lock_file_denied" | "gpu_not_supported" | "driver_incompatible" | "clock_control_failed" | "unknown_section" | "no_metrics" | "counters_invalid" | "ncu_usage" | "ncu_failed" | "nsys_failed" | "application_failed" | "application_crashed" | "kernel_fault" | "replay_impossible" | "replay_not_deterministic" | "capture_stalled" | "capture_timeout" | "capture_killed" | "capture_incomplete" | "disk_full" | "output_too_large" | "report_too_large" | "upload_failed" | "internal";
            /** @description what happened */
            message: string;
            /** @description what to do */
            hint: string;
            retryable: boolean;
            evidence: {
                [key: string]: unknown;
            };
        };
        FailureInput: {
            /** @enum {string} */
            code: "report_unreadable" | "report_missing" | "timeline_unreadable" | "timeline_no_kernels" | "timeline_graph_level_only" | "timeline_incomplete" | "timeline_merged_ranks" | "timeline_degenerate" | "timeline_not_comparable" | "timeline_window_invalid" | "timeline_window_not_found" | "timeline_window_empty" | "no_matching_kernel" | "no_kernels_profiled" | "analysis_timeout" | "analysis_crashed" | "no_worker" | "worker_lost" | "worker_stopped" | "workload_changed" | "preflight_failed" | "gpu_busy" | "lease_lost" | "tool_missing" | "injection_slot_taken" | "program_missing" | "engine_start_failed" | "engine_died" | "warmup_failed" | "counters_not_permitted" | "counters_in_use" | "lock_file_denied" | "gpu_not_supported" | "driver_incompatible" | "clock_control_failed" | "unknown_section" | "no_metrics" | "counters_invalid" | "ncu_usage" | "ncu_failed" | "nsys_failed" | "application_failed" | "application_crashed" | "kernel_fault" | "replay_impossible" | "replay_not_deterministic" | "capture_stalled" | "capture_timeout" | "capture_killed" | "capture_incomplete" | "disk_full" | "output_too_large" | "report_too_large" | "upload_failed" | "internal";
            /** @description what happened */
            message: string;
            /** @description what to do */
            hint: string;
            retryable: boolean;
            evidence: {
                [key: string]: unknown;
            };
        };
        Finding: {
            /** @description snake_case, stable */
            code: string;
            /** @enum {string} */
            severity: "info" | "warning" | "error";
            /** @description what was found, where, and what it means for the numbers */
            message: string;
            /** @description index of the launch in its report; null: the whole report */
            launch: number | null;
            evidence: {
                [key: string]: string | number | boolean | null;
            };
        };
        FindingInput: {
            /** @description snake_case, stable */
            code: string;
            /** @enum {string} */
            severity: "info" | "warning" | "error";
            /** @description what was found, where, and what it means for the numbers */
            message: string;
            /** @description index of the launch in its report; null: the whole report */
            launch: number | null;
            evidence: {
                [key: string]: string | number | boolean | null;
            };
        };
        KernelEntry: {
            target: string;
            roofline: ("compute-bound" | "memory-bound" | "latency-bound") | null;
            /** @description achieved, dominant precision, 2 per FMA; TOP/s for integers */
            tflops: number | null;
            /** @description DRAM bytes/s over the peak of this device */
            memory_bw_utilization: number | null;
            /** @description achieved: warps active over maximum */
            sm_occupancy: number | null;
            /** @description static + dynamic, per block */
            shared_memory_usage_bytes: number | null;
            /** @description share of warp-cycles by group, largest first; groups without any are 0 */
            warp_stall_reasons: {
                [key: string]: number;
            } | null;
            /** @description mean of one launch */
            wall_clock_us: number | null;
            /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
            fraction_of_pipeline: number | null;
            pipeline_stage: ("moe_routing" | "moe_dispatch" | "moe_expert" | "moe_combine" | "mla_prefill" | "mla_decode" | "attention" | "attention_decode" | "attention_prefill" | "attention_sparse_index" | "linear_attn" | "comm" | "gemm" | "kv_cache" | "memcpy" | "embedding" | "quantize" | "norm" | "rope" | "activation" | "elementwise" | "sampling" | "other") | null;
            optimization_headroom: string | null;
            detail: {
                /** @description the launch that the verdict is of; null: none has counters */
                launch: {
                    /** @description position in its report = ncu's ID */
                    index: number;
                    report_id: string | null;
                    /** @enum {string} */
                    kind: "kernel" | "range" | "cmdlist" | "graph";
                    grid: [
                        number,
                        number,
                        number
                    ] | null;
                    block: [
                        number,
                        number,
                        number
                    ] | null;
                    cluster_size: number | null;
                    process_id: number | null;
                    context_id: number | null;
                    stream_id: number | null;
                    device: number | null;
                    rank: number | null;
                    /** @description push/pop ranges, outermost first */
                    nvtx: string[];
                    failure: string | null;
                } | null;
                /** @description why there is no verdict, or what was missing beside one */
                roofline_null_reason: string | null;
                /** @enum {string} */
                limiter: "tensor" | "fma" | "fp64" | "alu" | "issue" | "lsu" | "l1_shared" | "l2" | "dram" | "nvlink" | "latency" | "tail" | "imbalance" | "launch" | "unknown";
                /** @description latency-bound, but at 60 % or more of a roof */
                near: boolean;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                compute_utilization: number | null;
                compute_metric: string | null;
                compute_basis: ("measured" | "lower_bound" | "estimated") | null;
                /** @description counters equal to it, without suffix */
                compute_utilization_set_by: string[];
                memory_metric: string | null;
                memory_basis: ("measured" | "computed" | "estimated") | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                issue_slot_utilization: number | null;
                sm_clock_hz: number | null;
                sm_clock_max_hz: number | null;
                dram_clock_hz: number | null;
                dram_clock_max_hz: number | null;
                /** @description achieved, non-zero only; int: TOP/s */
                tflops_by_precision: {
                    [key: string]: number;
                } | null;
                /** @description dense, at the clock of this launch */
                peak_tflops_by_precision: {
                    [key: string]: {
                        /** @description 1e12 operations per second, dense, 2 per multiply-add */
                        tflops: number;
                        /** @enum {string} */
                        source: "launch_counters" | "catalogue";
                        /** @description true for a published figure at its own clock */
                        estimated: boolean;
                        /** @description who published it, for a figure of the catalogue */
                        citation: string | null;
                    };
                } | null;
                dominant_precision: string | null;
                fp16_vector_is_probably_moves: boolean | null;
                tensor_paths: {
                    /** @description counter without its suffix */
                    metric: string;
                    /** @description instruction family (hmma, hgmma, …) where the counter names it */
                    op: string | null;
                    precision: string;
                    sparsity: string | null;
                    ops_per_s: number;
                    peak_ops_per_s: number | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    utilization: number | null;
                }[];
                arithmetic_intensity_flop_per_byte: number | null;
                ridge_point_flop_per_byte: number | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                achieved_over_attainable: number | null;
                memory: {
                    dram_bytes_per_s: number | null;
                    peak_dram_bytes_per_s: number | null;
                    peak_dram_source: ("launch_counters" | "catalogue") | null;
                    dram_bytes_read: number | null;
                    dram_bytes_written: number | null;
                    levels: {
                        /** @enum {string} */
                        level: "dram" | "l2" | "l1";
                        bytes_per_s: number | null;
                        peak_bytes_per_s: number | null;
                        /** @description NVIDIA's throughput of the level, % of elapsed / 100 */
                        utilization: number | null;
                        /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                        hit_rate: number | null;
                        arithmetic_intensity_flop_per_byte: number | null;
                    }[];
                    sectors_per_request_load: number | null;
                    sectors_per_request_store: number | null;
                    /** @description LDG only; null where LDG is less than half of the load instructions */
                    bytes_per_sector_load: number | null;
                };
                occupancy: {
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    theoretical: number | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    theoretical_from_limits: number | null;
                    /** @description those that really bind; empty at 100 % theoretical */
                    limiters: ("registers" | "shared_mem" | "warps" | "blocks" | "barriers")[];
                    limiters_as_reported: ("registers" | "shared_mem" | "warps" | "blocks" | "barriers")[];
                    /** @description blocks per SM, as reported */
                    limits_blocks: {
                        [key: string]: number | null;
                    };
                    limits_recomputed_blocks: {
                        [key: string]: number | null;
                    };
                    /** @description what one block more would need; null where blocks or warps forbid it or nothing binds */
                    next_step: {
                        blocks_per_sm: number;
                        theoretical_occupancy: number;
                        max_registers_per_thread: number | null;
                        max_shared_memory_allocated_bytes: number | null;
                        max_static_plus_dynamic_shared_memory_bytes: number | null;
                    } | null;
                };
                shared_memory: {
                    static_bytes: number | null;
                    dynamic_bytes: number | null;
                    driver_bytes: number | null;
                    per_block_with_driver_bytes: number | null;
                    allocated_bytes: number | null;
                    carveout_bytes: number | null;
                    bank_conflicts: number | null;
                    /** @description conflicts over wavefronts */
                    bank_conflict_share: number | null;
                };
                registers: {
                    per_thread: number | null;
                    per_thread_allocated: number | null;
                    spill_instructions: number | null;
                    local_loads: number | null;
                    local_stores: number | null;
                };
                waves_per_sm: number | null;
                /** @description part of the launch in which the average SM had no work */
                imbalance: number | null;
                imbalance_metric: string | null;
                stalls: {
                    cycles_per_issue: {
                        [key: string]: number;
                    } | null;
                    shares_by_reason: {
                        [key: string]: number;
                    } | null;
                    /** @description by group, largest first */
                    shares: {
                        [key: string]: number;
                    } | null;
                    dominant_group: string | null;
                    /** @description 1 = the ratios add up */
                    sum_over_warp_latency: number | null;
                };
                latency: {
                    primary: ("tiny_kernel" | "near_compute_roof" | "near_memory_roof" | "grid_smaller_than_sm_count" | "less_than_one_wave" | "l2_bound" | "l1_or_shared_bound" | "tail_effect" | "load_imbalance" | "tensor_wait_stalls" | "barrier_stalls" | "memory_dependency_stalls" | "execution_dependency_stalls" | "low_theoretical_occupancy" | "achieved_occupancy_below_theoretical" | "unknown") | null;
                    reasons: ("tiny_kernel" | "near_compute_roof" | "near_memory_roof" | "grid_smaller_than_sm_count" | "less_than_one_wave" | "l2_bound" | "l1_or_shared_bound" | "tail_effect" | "load_imbalance" | "tensor_wait_stalls" | "barrier_stalls" | "memory_dependency_stalls" | "execution_dependency_stalls" | "low_theoretical_occupancy" | "achieved_occupancy_below_theoretical" | "unknown")[];
                };
                headroom: {
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    within_path: number | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    to_best_path: number | null;
                    best_path: {
                        path: string;
                        path_in_use: string;
                        precision: string;
                        peak_tflops: number;
                        requires_precision_change: boolean;
                    } | null;
                    level: ("high" | "medium" | "low" | "unknown") | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    distance_with_launch_floor: number | null;
                };
                /** @description further counters, base units, by NVIDIA's name; present ones only */
                counters: {
                    [key: string]: number;
                };
                hints: {
                    rule: string;
                    section: string | null;
                    title: string | null;
                    text: string | null;
                    speedup_type: ("global" | "local") | null;
                    /** @description NVIDIA's estimate, 0..100; never summed */
                    speedup_percent: number | null;
                    evidence: {
                        metric: string;
                        value: number | null;
                        info: string | null;
                    }[];
                }[];
                /** @description what the analyses declare and this launch does not hold */
                missing_metrics: string[];
                /** @description field path -> launch and metrics that it came from */
                sources: {
                    [key: string]: {
                        launch: number;
                        metrics: string[];
                    };
                };
                /** @description field path -> why it is null */
                null_reasons: {
                    [key: string]: string;
                };
                names: {
                    /** @description launches with this key are the same kernel */
                    key: string;
                    /** @enum {string} */
                    key_kind: "demangled" | "mangled" | "printed";
                    display: string;
                    function: string | null;
                    demangled: string | null;
                    mangled: string | null;
                };
                stage: {
                    /** @enum {string} */
                    stage: "moe_routing" | "moe_dispatch" | "moe_expert" | "moe_combine" | "mla_prefill" | "mla_decode" | "attention" | "attention_decode" | "attention_prefill" | "attention_sparse_index" | "linear_attn" | "comm" | "gemm" | "kv_cache" | "memcpy" | "embedding" | "quantize" | "norm" | "rope" | "activation" | "elementwise" | "sampling" | "other";
                    /** @enum {string} */
                    family: "moe" | "attention" | "comm" | "gemm" | "memory" | "elementwise" | "sampling" | "other";
                    /** @description the rule that matched, and behind + what the context changed */
                    rule: string;
                    /** @description how far the name is enough; below 0.5 a hint, below 0.2 unknown */
                    confidence: number;
                    /** @description further stages that the name does not exclude, likeliest first */
                    alternatives: ("moe_routing" | "moe_dispatch" | "moe_expert" | "moe_combine" | "mla_prefill" | "mla_decode" | "attention" | "attention_decode" | "attention_prefill" | "attention_sparse_index" | "linear_attn" | "comm" | "gemm" | "kv_cache" | "memcpy" | "embedding" | "quantize" | "norm" | "rope" | "activation" | "elementwise" | "sampling" | "other")[];
                } | null;
                timing: components["schemas"]["Timing"];
                /** @description of the summed time of all kernels in the report */
                share_of_report: number | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                share_of_wall: number | null;
                /** @description time on its streams that no earlier kernel there overlaps: what shares are of */
                exclusive_us: number | null;
                /** @description what its measured clusters would save at their roof (Amdahl, one kernel alone); where its own launches overlap, of the time in which any of them runs; savings of several kernels do not add where they overlap */
                saving_us: number | null;
                /**
                 * @description saving_us over the time the GPU is busy, at most the kernel's own part of it; an upper bound where other kernels run at the same time
                 * @default null
                 */
                saving_of_busy: number | null;
                phases: {
                    /** @enum {string} */
                    phase: "prefill" | "decode" | "mixed" | "draft" | "verify" | "unknown";
                    launches: number;
                    exclusive_us: number;
                }[] | null;
                /**
                 * @description of a kernel that waits for other GPUs: its time over the ranks; null: it is none, or no timeline
                 * @default null
                 */
                collective: components["schemas"]["CollectiveTimes"] | null;
                shapes: components["schemas"]["Shape"][];
            };
            findings: components["schemas"]["Finding"][];
        };
        KernelResult: {
            target: string;
            roofline: ("compute-bound" | "memory-bound" | "latency-bound") | null;
            /** @description achieved, dominant precision, 2 per FMA; TOP/s for integers */
            tflops: number | null;
            /** @description DRAM bytes/s over the peak of this device */
            memory_bw_utilization: number | null;
            /** @description achieved: warps active over maximum */
            sm_occupancy: number | null;
            /** @description static + dynamic, per block */
            shared_memory_usage_bytes: number | null;
            /** @description share of warp-cycles by group, largest first; groups without any are 0 */
            warp_stall_reasons: {
                [key: string]: number;
            } | null;
            /** @description mean of one launch */
            wall_clock_us: number | null;
            /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
            fraction_of_pipeline: number | null;
            pipeline_stage: ("moe_routing" | "moe_dispatch" | "moe_expert" | "moe_combine" | "mla_prefill" | "mla_decode" | "attention" | "attention_decode" | "attention_prefill" | "attention_sparse_index" | "linear_attn" | "comm" | "gemm" | "kv_cache" | "memcpy" | "embedding" | "quantize" | "norm" | "rope" | "activation" | "elementwise" | "sampling" | "other") | null;
            optimization_headroom: string | null;
            /** @constant */
            kind: "kernel";
            /** @constant */
            schema_version: 1;
            partial: boolean;
            detail: {
                /** @description the launch that the verdict is of; null: none has counters */
                launch: {
                    /** @description position in its report = ncu's ID */
                    index: number;
                    report_id: string | null;
                    /** @enum {string} */
                    kind: "kernel" | "range" | "cmdlist" | "graph";
                    grid: [
                        number,
                        number,
                        number
                    ] | null;
                    block: [
                        number,
                        number,
                        number
                    ] | null;
                    cluster_size: number | null;
                    process_id: number | null;
                    context_id: number | null;
                    stream_id: number | null;
                    device: number | null;
                    rank: number | null;
                    /** @description push/pop ranges, outermost first */
                    nvtx: string[];
                    failure: string | null;
                } | null;
                /** @description why there is no verdict, or what was missing beside one */
                roofline_null_reason: string | null;
                /** @enum {string} */
                limiter: "tensor" | "fma" | "fp64" | "alu" | "issue" | "lsu" | "l1_shared" | "l2" | "dram" | "nvlink" | "latency" | "tail" | "imbalance" | "launch" | "unknown";
                /** @description latency-bound, but at 60 % or more of a roof */
                near: boolean;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                compute_utilization: number | null;
                compute_metric: string | null;
                compute_basis: ("measured" | "lower_bound" | "estimated") | null;
                /** @description counters equal to it, without suffix */
                compute_utilization_set_by: string[];
                memory_metric: string | null;
                memory_basis: ("measured" | "computed" | "estimated") | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                issue_slot_utilization: number | null;
                sm_clock_hz: number | null;
                sm_clock_max_hz: number | null;
                dram_clock_hz: number | null;
                dram_clock_max_hz: number | null;
                /** @description achieved, non-zero only; int: TOP/s */
                tflops_by_precision: {
                    [key: string]: number;
                } | null;
                /** @description dense, at the clock of this launch */
                peak_tflops_by_precision: {
                    [key: string]: {
                        /** @description 1e12 operations per second, dense, 2 per multiply-add */
                        tflops: number;
                        /** @enum {string} */
                        source: "launch_counters" | "catalogue";
                        /** @description true for a published figure at its own clock */
                        estimated: boolean;
                        /** @description who published it, for a figure of the catalogue */
                        citation: string | null;
                    };
                } | null;
                dominant_precision: string | null;
                fp16_vector_is_probably_moves: boolean | null;
                tensor_paths: {
                    /** @description counter without its suffix */
                    metric: string;
                    /** @description instruction family (hmma, hgmma, …) where the counter names it */
                    op: string | null;
                    precision: string;
                    sparsity: string | null;
                    ops_per_s: number;
                    peak_ops_per_s: number | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    utilization: number | null;
                }[];
                arithmetic_intensity_flop_per_byte: number | null;
                ridge_point_flop_per_byte: number | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                achieved_over_attainable: number | null;
                memory: {
                    dram_bytes_per_s: number | null;
                    peak_dram_bytes_per_s: number | null;
                    peak_dram_source: ("launch_counters" | "catalogue") | null;
                    dram_bytes_read: number | null;
                    dram_bytes_written: number | null;
                    levels: {
                        /** @enum {string} */
                        level: "dram" | "l2" | "l1";
                        bytes_per_s: number | null;
                        peak_bytes_per_s: number | null;
                        /** @description NVIDIA's throughput of the level, % of elapsed / 100 */
                        utilization: number | null;
                        /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                        hit_rate: number | null;
                        arithmetic_intensity_flop_per_byte: number | null;
                    }[];
                    sectors_per_request_load: number | null;
                    sectors_per_request_store: number | null;
                    /** @description LDG only; null where LDG is less than half of the load instructions */
                    bytes_per_sector_load: number | null;
                };
                occupancy: {
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    theoretical: number | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    theoretical_from_limits: number | null;
                    /** @description those that really bind; empty at 100 % theoretical */
                    limiters: ("registers" | "shared_mem" | "warps" | "blocks" | "barriers")[];
                    limiters_as_reported: ("registers" | "shared_mem" | "warps" | "blocks" | "barriers")[];
                    /** @description blocks per SM, as reported */
                    limits_blocks: {
                        [key: string]: number | null;
                    };
                    limits_recomputed_blocks: {
                        [key: string]: number | null;
                    };
                    /** @description what one block more would need; null where blocks or warps forbid it or nothing binds */
                    next_step: {
                        blocks_per_sm: number;
                        theoretical_occupancy: number;
                        max_registers_per_thread: number | null;
                        max_shared_memory_allocated_bytes: number | null;
                        max_static_plus_dynamic_shared_memory_bytes: number | null;
                    } | null;
                };
                shared_memory: {
                    static_bytes: number | null;
                    dynamic_bytes: number | null;
                    driver_bytes: number | null;
                    per_block_with_driver_bytes: number | null;
                    allocated_bytes: number | null;
                    carveout_bytes: number | null;
                    bank_conflicts: number | null;
                    /** @description conflicts over wavefronts */
                    bank_conflict_share: number | null;
                };
                registers: {
                    per_thread: number | null;
                    per_thread_allocated: number | null;
                    spill_instructions: number | null;
                    local_loads: number | null;
                    local_stores: number | null;
                };
                waves_per_sm: number | null;
                /** @description part of the launch in which the average SM had no work */
                imbalance: number | null;
                imbalance_metric: string | null;
                stalls: {
                    cycles_per_issue: {
                        [key: string]: number;
                    } | null;
                    shares_by_reason: {
                        [key: string]: number;
                    } | null;
                    /** @description by group, largest first */
                    shares: {
                        [key: string]: number;
                    } | null;
                    dominant_group: string | null;
                    /** @description 1 = the ratios add up */
                    sum_over_warp_latency: number | null;
                };
                latency: {
                    primary: ("tiny_kernel" | "near_compute_roof" | "near_memory_roof" | "grid_smaller_than_sm_count" | "less_than_one_wave" | "l2_bound" | "l1_or_shared_bound" | "tail_effect" | "load_imbalance" | "tensor_wait_stalls" | "barrier_stalls" | "memory_dependency_stalls" | "execution_dependency_stalls" | "low_theoretical_occupancy" | "achieved_occupancy_below_theoretical" | "unknown") | null;
                    reasons: ("tiny_kernel" | "near_compute_roof" | "near_memory_roof" | "grid_smaller_than_sm_count" | "less_than_one_wave" | "l2_bound" | "l1_or_shared_bound" | "tail_effect" | "load_imbalance" | "tensor_wait_stalls" | "barrier_stalls" | "memory_dependency_stalls" | "execution_dependency_stalls" | "low_theoretical_occupancy" | "achieved_occupancy_below_theoretical" | "unknown")[];
                };
                headroom: {
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    within_path: number | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    to_best_path: number | null;
                    best_path: {
                        path: string;
                        path_in_use: string;
                        precision: string;
                        peak_tflops: number;
                        requires_precision_change: boolean;
                    } | null;
                    level: ("high" | "medium" | "low" | "unknown") | null;
                    /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                    distance_with_launch_floor: number | null;
                };
                /** @description further counters, base units, by NVIDIA's name; present ones only */
                counters: {
                    [key: string]: number;
                };
                hints: {
                    rule: string;
                    section: string | null;
                    title: string | null;
                    text: string | null;
                    speedup_type: ("global" | "local") | null;
                    /** @description NVIDIA's estimate, 0..100; never summed */
                    speedup_percent: number | null;
                    evidence: {
                        metric: string;
                        value: number | null;
                        info: string | null;
                    }[];
                }[];
                /** @description what the analyses declare and this launch does not hold */
                missing_metrics: string[];
                /** @description field path -> launch and metrics that it came from */
                sources: {
                    [key: string]: {
                        launch: number;
                        metrics: string[];
                    };
                };
                /** @description field path -> why it is null */
                null_reasons: {
                    [key: string]: string;
                };
                names: {
                    /** @description launches with this key are the same kernel */
                    key: string;
                    /** @enum {string} */
                    key_kind: "demangled" | "mangled" | "printed";
                    display: string;
                    function: string | null;
                    demangled: string | null;
                    mangled: string | null;
                };
                stage: {
                    /** @enum {string} */
                    stage: "moe_routing" | "moe_dispatch" | "moe_expert" | "moe_combine" | "mla_prefill" | "mla_decode" | "attention" | "attention_decode" | "attention_prefill" | "attention_sparse_index" | "linear_attn" | "comm" | "gemm" | "kv_cache" | "memcpy" | "embedding" | "quantize" | "norm" | "rope" | "activation" | "elementwise" | "sampling" | "other";
                    /** @enum {string} */
                    family: "moe" | "attention" | "comm" | "gemm" | "memory" | "elementwise" | "sampling" | "other";
                    /** @description the rule that matched, and behind + what the context changed */
                    rule: string;
                    /** @description how far the name is enough; below 0.5 a hint, below 0.2 unknown */
                    confidence: number;
                    /** @description further stages that the name does not exclude, likeliest first */
                    alternatives: ("moe_routing" | "moe_dispatch" | "moe_expert" | "moe_combine" | "mla_prefill" | "mla_decode" | "attention" | "attention_decode" | "attention_prefill" | "attention_sparse_index" | "linear_attn" | "comm" | "gemm" | "kv_cache" | "memcpy" | "embedding" | "quantize" | "norm" | "rope" | "activation" | "elementwise" | "sampling" | "other")[];
                } | null;
                timing: components["schemas"]["Timing"];
                /** @description of the summed time of all kernels in the report */
                share_of_report: number | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                share_of_wall: number | null;
                /** @description time on its streams that no earlier kernel there overlaps: what shares are of */
                exclusive_us: number | null;
                /** @description what its measured clusters would save at their roof (Amdahl, one kernel alone); where its own launches overlap, of the time in which any of them runs; savings of several kernels do not add where they overlap */
                saving_us: number | null;
                /**
                 * @description saving_us over the time the GPU is busy, at most the kernel's own part of it; an upper bound where other kernels run at the same time
                 * @default null
                 */
                saving_of_busy: number | null;
                phases: {
                    /** @enum {string} */
                    phase: "prefill" | "decode" | "mixed" | "draft" | "verify" | "unknown";
                    launches: number;
                    exclusive_us: number;
                }[] | null;
                /**
                 * @description of a kernel that waits for other GPUs: its time over the ranks; null: it is none, or no timeline
                 * @default null
                 */
                collective: components["schemas"]["CollectiveTimes"] | null;
                shapes: components["schemas"]["Shape"][];
            };
            /** @description further kernels that match the target, by time */
            others: {
                target: string;
                name_key: string;
                roofline: ("compute-bound" | "memory-bound" | "latency-bound") | null;
                total_us: number | null;
                launches: number;
            }[];
            findings: components["schemas"]["Finding"][];
            provenance: components["schemas"]["Provenance"];
        };
        KnownWorkload: {
            name: string;
            /** @enum {string} */
            kind: "benchmark" | "server";
            description: string | null;
            model: string;
            aliases: string[];
            /** @enum {string} */
            engine: "vllm" | "sglang" | "none";
            gpus: number;
            /** @description hash over the declaration and the files it names: changes when what would run changes */
            sha256: string;
            workers: {
                id: string;
                pool: string;
                /** @enum {string} */
                state: "live" | "stopping" | "lost";
                heartbeat_age_s: number;
            }[];
        };
        Lease: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            state: "waiting" | "held" | "ended";
            /** @enum {string} */
            kind: "profile" | "benchmark";
            gpus: string[];
            holder: string;
            /** @description fencing token: grows with each grant; null while waiting */
            token: number | null;
            /** @description true: held for a warm engine that is idle; any other request ends it */
            preemptible: boolean;
            /** @description true: it is held, and somebody else waits for one of its GPUs */
            wanted: boolean;
            /** @description leases that hold or come first for one of its GPUs, at most 16; empty once held */
            blocked_by: string[];
            ttl_s: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            requested_at: string;
            granted_at: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            expires_at: string;
        };
        LeasePage: {
            items: components["schemas"]["Lease"][];
            /** @description there is one page */
            next_cursor: null;
        };
        LeaseRenewal: {
            /** @description another ttl from now on; left out: as before */
            ttl_s?: number;
            /** @description its fencing token: renewed only if it is still this one */
            token?: number;
        };
        LeaseRequest: {
            /**
             * @default benchmark
             * @enum {string}
             */
            kind: "profile" | "benchmark";
            /** @description uuids; all are taken at once or none */
            gpus?: string[];
            /** @description all GPUs of this worker */
            worker?: string;
            /** @description who holds it, for people who look: a host and a run, say */
            holder: string;
            /**
             * @description ends by itself unless renewed within this
             * @default 60
             */
            ttl_s: number;
        };
        Outcome: {
            worker_id: string;
            attempt: number;
            /** @description fencing token of the lease; null until there is one */
            lease_token: number | null;
            /** @enum {string} */
            ended: "completed" | "partial" | "failed";
            failure: components["schemas"]["FailureInput"] | null;
            findings: components["schemas"]["FindingInput"][];
            /** @description artifacts to analyse, in order */
            reports: string[];
            /**
             * @description artifacts that are timelines of the run, one a rank; what tells of the host is taken out of them
             * @default []
             */
            timelines: string[];
            record: components["schemas"]["CaptureRecordInput"];
        };
        PipelinePlan: {
            timeline: {
                /** @enum {string} */
                tool: "nsys";
                /**
                 * @description which part of the program was recorded; session: from nsys start to nsys stop
                 * @enum {string}
                 */
                window: "from_start" | "cuda_profiler_api" | "session";
                /** @description one run of the program under nsys */
                program_s: number;
            };
            /** @description kernels that the timeline ranks */
            kernels: number;
            /** @description clusters that were to get counters */
            chosen: {
                /** @description as `64x1x1` */
                grid: string;
                block: string;
                median_ns: number;
                kernel: string;
                launches: number;
                total_ns: number;
                /** @description linker name of the launch that stands for the cluster */
                mangled: string;
                /** @description its number among the launches of that name, from 1 */
                ordinal: number;
                duration_ns: number;
            }[];
            /** @description what got no counters, most time first as far as kernels go */
            left_out: {
                kernel: string;
                /** @description null: the whole kernel */
                cluster: {
                    /** @description as `64x1x1` */
                    grid: string;
                    block: string;
                    median_ns: number;
                } | null;
                total_ns: number;
                /** @enum {string} */
                reason: "below_top_n" | "collective" | "no_mangled_name" | "small_cluster" | "launch_limit" | "argument_limit" | "not_launched" | "hang" | "fault";
                /** @description in words */
                because: string;
            }[];
            /** @description more of them than are listed */
            left_out_more: number;
            /** @description launches that ncu was asked for: names x ordinals */
            launches: number;
            /** @description linker names that ncu was asked for */
            names: number;
            /** @description numbers that ncu took of each linker name, ascending; null: launches were found by shape and duration instead */
            ordinals: number[] | null;
            passes: number | null;
            /** @description counters that ncu was asked for by name */
            metrics: number | null;
            /** @description what bounds the launches */
            reason: string;
            /** @description in order; start: of the program for the counters, where it began beside the timeline, or of an engine with its warm-up; shapes and survey: launches of an engine, looked at before the counters */
            steps: {
                /** @enum {string} */
                step: "timeline" | "export" | "rank" | "start" | "shapes" | "survey" | "counters";
                took_s: number;
            }[];
            /** @description what else is to be known of the plan, in words */
            notes: string[];
        };
        PipelinePlanInput: {
            timeline: {
                /** @enum {string} */
                tool: "nsys";
                /**
                 * @description which part of the program was recorded; session: from nsys start to nsys stop
                 * @enum {string}
                 */
                window: "from_start" | "cuda_profiler_api" | "session";
                /** @description one run of the program under nsys */
                program_s: number;
            };
            /** @description kernels that the timeline ranks */
            kernels: number;
            /** @description clusters that were to get counters */
            chosen: {
                /** @description as `64x1x1` */
                grid: string;
                block: string;
                median_ns: number;
                kernel: string;
                launches: number;
                total_ns: number;
                /** @description linker name of the launch that stands for the cluster */
                mangled: string;
                /** @description its number among the launches of that name, from 1 */
                ordinal: number;
                duration_ns: number;
            }[];
            /** @description what got no counters, most time first as far as kernels go */
            left_out: {
                kernel: string;
                /** @description null: the whole kernel */
                cluster: {
                    /** @description as `64x1x1` */
                    grid: string;
                    block: string;
                    median_ns: number;
                } | null;
                total_ns: number;
                /** @enum {string} */
                reason: "below_top_n" | "collective" | "no_mangled_name" | "small_cluster" | "launch_limit" | "argument_limit" | "not_launched" | "hang" | "fault";
                /** @description in words */
                because: string;
            }[];
            /** @description more of them than are listed */
            left_out_more: number;
            /** @description launches that ncu was asked for: names x ordinals */
            launches: number;
            /** @description linker names that ncu was asked for */
            names: number;
            /** @description numbers that ncu took of each linker name, ascending; null: launches were found by shape and duration instead */
            ordinals: number[] | null;
            passes: number | null;
            /** @description counters that ncu was asked for by name */
            metrics: number | null;
            /** @description what bounds the launches */
            reason: string;
            /** @description in order; start: of the program for the counters, where it began beside the timeline, or of an engine with its warm-up; shapes and survey: launches of an engine, looked at before the counters */
            steps: {
                /** @enum {string} */
                step: "timeline" | "export" | "rank" | "start" | "shapes" | "survey" | "counters";
                took_s: number;
            }[];
            /** @description what else is to be known of the plan, in words */
            notes: string[];
        };
        PipelineResult: {
            /** @constant */
            kind: "pipeline";
            /** @constant */
            schema_version: 1;
            /** @constant */
            target: "full pipeline";
            partial: boolean;
            gpu_busy_us: number | null;
            span_us: number | null;
            gpu_idle_us: number | null;
            /** @description kernel launches */
            launches: number;
            /** @description summed duration of the kernel launches in the reports: the denominator of share_of_report */
            report_us: number | null;
            stages: {
                stage: string;
                family: string;
                share: number;
                total_us: number;
            }[] | null;
            /** @description ranked by contribution */
            kernels: components["schemas"]["KernelEntry"][];
            /** @description kernels in the reports, listed or not */
            kernels_total: number;
            /** @description results that span several kernels; never added to kernel sums */
            composites: {
                /** @enum {string} */
                kind: "range" | "cmdlist" | "graph";
                index: number;
                display: string;
                duration_us: number | null;
            }[];
            /** @description null: there was no timeline */
            timeline: components["schemas"]["TimelineSummary"] | null;
            /** @description share of the busy time in which a launch of a cluster with counters runs: a union, never above 1 */
            coverage: number | null;
            /** @description null: nothing was captured, or no timeline of it was taken */
            plan: components["schemas"]["PipelinePlan"] | null;
            null_reasons: {
                [key: string]: string;
            };
            findings: components["schemas"]["Finding"][];
            provenance: components["schemas"]["Provenance"];
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            /** @enum {string} */
            code: "malformed_json" | "bad_request" | "invalid_query" | "validation_failed" | "use_benchmark_serving" | "no_such_workload" | "no_live_worker" | "no_such_report" | "not_found" | "method_not_allowed" | "not_acceptable" | "content_too_large" | "unsupported_media_type" | "not_ready" | "not_cancelable" | "superseded" | "lease_ended" | "no_such_gpu" | "report_unreadable" | "role_missing" | "unauthenticated" | "quota_exceeded" | "uri_too_long" | "range_not_satisfiable" | "headers_too_large" | "request_timeout" | "unavailable" | "internal";
            detail: string;
            instance: string;
            hint?: string;
            errors?: {
                /** @description JSON Pointer into the body, or `?name` for a query parameter */
                pointer: string;
                detail: string;
                code: string;
            }[];
        } & {
            [key: string]: unknown;
        };
        ProblemType: {
            type: string;
            /** @enum {string} */
            code: "malformed_json" | "bad_request" | "invalid_query" | "validation_failed" | "use_benchmark_serving" | "no_such_workload" | "no_live_worker" | "no_such_report" | "not_found" | "method_not_allowed" | "not_acceptable" | "content_too_large" | "unsupported_media_type" | "not_ready" | "not_cancelable" | "superseded" | "lease_ended" | "no_such_gpu" | "report_unreadable" | "role_missing" | "unauthenticated" | "quota_exceeded" | "uri_too_long" | "range_not_satisfiable" | "headers_too_large" | "request_timeout" | "unavailable" | "internal";
            status: number;
            title: string;
        };
        Profile: {
            /**
             * Format: uuid
             * @description version 7
             */
            id: string;
            /** @constant */
            schema_version: 1;
            /** @enum {string} */
            state: "queued" | "waiting_for_gpu" | "warming_up" | "capturing" | "analyzing" | "succeeded" | "failed" | "canceled";
            reused: boolean;
            progress: {
                phase: string;
                done: number | null;
                total: number | null;
                message: string | null;
            } | null;
            request: components["schemas"]["ResolvedProfileRequest"];
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            updated_at: string;
            started_at: string | null;
            finished_at: string | null;
            /** @description number of the newest event of this profile */
            last_event: number;
            failure: components["schemas"]["Failure"] | null;
            /** @description null: the profile is about uploaded reports */
            capture: {
                pool: string;
                /** @description name of the workload that was chosen; null: the request's command */
                workload: string | null;
                /** @description who began the newest attempt; null: nobody has */
                worker_id: string | null;
                /** @description how often a worker began */
                attempts: number;
            } | null;
            links: {
                [key: string]: string;
            };
        };
        ProfilePage: {
            items: components["schemas"]["Profile"][];
            /** @description null: this is the last page */
            next_cursor: string | null;
        };
        /**
         * @example {
         *       "target": "full pipeline",
         *       "source": {
         *         "kind": "report",
         *         "report_ids": [
         *           "01a23007-a5e8-7481-a240-6068bf8be8a2"
         *         ]
         *       }
         *     }
         */
        ProfileRequest: {
            /** @description kernel function name, mangled or demangled name, /regex/, or `full pipeline` */
            target: string;
            model?: string;
            /** @description vllm, sglang or none; case-insensitive */
            engine?: string;
            /** @description default 1 for a kernel, 128 for the pipeline */
            concurrency?: number;
            source?: {
                /** @constant */
                kind: "report";
                /** @description reports, by their ids from POST /reports; required unless timelines are given */
                report_ids?: string[];
                /** @description timelines of one run, one for each rank, by their ids from POST /reports */
                timeline_ids?: string[];
            } | {
                /** @constant */
                kind: "workload";
                name: string;
            } | {
                /** @constant */
                kind: "command";
                argv: string[];
                cwd?: string;
                env?: {
                    [key: string]: string;
                };
            };
            gpu?: string;
            pool?: string;
            rank?: number;
            top_n?: number;
            max_duration_s?: number;
            /** @description part of the timelines: ranges of that name, the step of that number, or from the first GPU activity in microseconds */
            window?: {
                nvtx: string;
            } | {
                step: number | string;
            } | {
                from_us: number;
                to_us: number;
            };
            session?: string;
            revision?: string;
            /** @enum {string} */
            reuse?: "session" | "any" | "never";
            force?: boolean;
            /** @enum {string} */
            objective?: "bottleneck" | "e2e_throughput";
            ncu?: {
                set?: string;
                sections?: string[];
                metrics?: string[];
                /** @enum {string} */
                cache_control?: "all" | "none";
                /** @enum {string} */
                clock_control?: "base" | "none";
            };
            webhook?: {
                /** Format: uri */
                url: string;
                events?: string[];
            };
            labels?: {
                [key: string]: string;
            };
        };
        Provenance: {
            reports: {
                id: string | null;
                sha256: string | null;
                format: string;
                compression: string;
                launches: number;
                partial: boolean;
                partial_at_byte: number | null;
                tool: string;
                tool_version: string | null;
                cuda_version: string | null;
                driver_version: string | null;
            }[];
            timelines: {
                id: string | null;
                sha256: string | null;
                format: string;
                compression: string;
                /** @description GPU activities */
                rows: number;
                tool: string;
                tool_version: string | null;
                schema_version: string | null;
                cuda_version: string | null;
                driver_version: string | null;
                ranks: number[];
            }[];
            gpus: {
                name: string | null;
                uuid: string | null;
                compute_capability: string | null;
                sm_count: number | null;
                sm_clock_hz: {
                    min: number | null;
                    max: number | null;
                };
                sm_clock_max_hz: number | null;
                dram_clock_hz: {
                    min: number | null;
                    max: number | null;
                };
                catalogue_id: string | null;
            }[];
            /** @description which peak came from where */
            peaks: string;
            analysis_version: string;
            /** @description replay passes, the most of any launch */
            passes: number | null;
            /** @description how the reports were captured; null: they were uploaded */
            capture: components["schemas"]["CaptureRecord"] | null;
        };
        Readiness: {
            /** @enum {string} */
            status: "ok" | "unavailable";
            checks: {
                [key: string]: boolean;
            };
        };
        ResolvedProfileRequest: {
            /** @description kernel function name, mangled or demangled name, /regex/, or `full pipeline` */
            target: string;
            model: string | null;
            engine: ("vllm" | "sglang" | "none") | null;
            concurrency: number;
            source?: {
                /** @constant */
                kind: "report";
                /** @description reports, by their ids from POST /reports; required unless timelines are given */
                report_ids?: string[];
                /** @description timelines of one run, one for each rank, by their ids from POST /reports */
                timeline_ids?: string[];
            } | {
                /** @constant */
                kind: "workload";
                name: string;
            } | {
                /** @constant */
                kind: "command";
                argv: string[];
                cwd?: string;
                env?: {
                    [key: string]: string;
                };
            };
            gpu?: string;
            pool?: string;
            rank: number;
            top_n: number;
            max_duration_s?: number;
            /** @description part of the timelines: ranges of that name, the step of that number, or from the first GPU activity in microseconds */
            window?: {
                nvtx: string;
            } | {
                step: number | string;
            } | {
                from_us: number;
                to_us: number;
            };
            session?: string;
            revision?: string;
            /** @enum {string} */
            reuse?: "session" | "any" | "never";
            force?: boolean;
            /** @constant */
            objective: "bottleneck";
            ncu?: {
                set?: string;
                sections?: string[];
                metrics?: string[];
                /** @enum {string} */
                cache_control?: "all" | "none";
                /** @enum {string} */
                clock_control?: "base" | "none";
            };
            webhook?: {
                /** Format: uri */
                url: string;
                events?: string[];
            };
            labels?: {
                [key: string]: string;
            };
        };
        Shape: {
            grid: [
                number,
                number,
                number
            ] | null;
            block: [
                number,
                number,
                number
            ] | null;
            shared_memory_usage_bytes: number | null;
            timing: components["schemas"]["Timing"];
            clusters: components["schemas"]["Cluster"][];
        };
        TimelineStrip: {
            bins: number;
            bin_us: number;
            /**
             * @description how several timelines were laid over one another: by the clock that they recorded, or each at its start
             * @enum {string}
             */
            aligned_by: "clock" | "first_activity";
            /** @description most time first; `rest`: all further ones; `outside`: work outside of the window */
            stages: (("named" | "rest" | "outside") | string)[];
            /** @description a GPU as one process or rank used it; streams where one GPU has few */
            lanes: {
                timeline: number;
                rank: number | null;
                device: number | null;
                /** @description null: all streams of the GPU */
                stream: string | null;
                /** @description for each of `stages` the thousandths of each bin; what overlaps counts for the one that began first */
                busy: number[][];
            }[];
            /** @description more than `lanes`: those with the most time are shown */
            lanes_total: number;
        };
        TimelineSummary: {
            window: ({
                nvtx: string;
            } | {
                step: number;
            } | {
                from_us: number;
                to_us: number;
            }) | null;
            /** @description spans of the GPUs, summed */
            wall_us: number | null;
            kernels_recorded_us: number;
            kernels_exclusive_us: number;
            overlap_between_streams_us: number | null;
            /** @description neighbours on one stream, as programmatic dependent launch makes them */
            overlap_on_streams: {
                pairs: number;
                us: number;
            } | null;
            phases: {
                /** @enum {string} */
                phase: "prefill" | "decode" | "mixed" | "draft" | "verify" | "unknown";
                launches: number;
                exclusive_us: number;
                steps: number;
                share_of_kernels: number;
            }[] | null;
            activities: {
                /** @enum {string} */
                kind: "memcpy" | "memset" | "graph";
                name: string;
                count: number;
                total_us: number;
                bytes: number | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                share_of_busy: number | null;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                share_of_wall: number | null;
            }[];
            idle: {
                count: number;
                total_us: number;
                /** @description 0..1; above 1 (below 0) where the counters went over their bound, never clipped */
                share_of_wall: number | null;
                host: {
                    calls: {
                        name: string;
                        calls: number;
                        overlap_us: number;
                    }[] | null;
                    null_reason: string | null;
                };
                largest: {
                    timeline: number;
                    start_us: number;
                    duration_us: number;
                    rank: number | null;
                    device: number | null;
                    after: string;
                    before: string;
                    host: {
                        name: string;
                        calls: number;
                        overlap_us: number;
                    }[] | null;
                }[];
            } | null;
            /** @description when the GPU was busy, in bins: what the picture of the timeline shows */
            strip: components["schemas"]["TimelineStrip"] | null;
            null_reasons: {
                [key: string]: string;
            };
        };
        Timing: {
            /** @description ncu: the launches with counters; ncu_survey: every launch that the capture's survey saw under ncu; where only some were timed, a finding survey_sampled says so */
            source: ("timeline" | "ncu_survey" | "ncu") | null;
            n: number;
            total_us: number | null;
            mean_us: number | null;
            median_us: number | null;
            p90_us: number | null;
            min_us: number | null;
            max_us: number | null;
            /** @description (max - min) / median */
            spread: number | null;
        };
        UploadedReport: {
            /** Format: uuid */
            id: string;
            sha256: string;
            bytes: number;
            /** @enum {string} */
            format: "ncu-rep" | "ncu-csv-raw" | "ncu-csv-details" | "nsys-sqlite" | "nsys-stats" | "torch-trace";
            /** @enum {string} */
            compression: "none" | "gzip" | "zstd";
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            created_at: string;
            links: {
                [key: string]: string;
            };
        };
        Worker: {
            version: string;
            pool: string;
            gpus: components["schemas"]["WorkerGpu"][];
            tools: {
                ncu: {
                    path: string;
                    version: string;
                } | null;
                nsys: {
                    path: string;
                    version: string;
                } | null;
                /** @description names that --set takes on this host */
                ncu_sets: string[];
            };
            workloads: components["schemas"]["DeclaredWorkload"][];
            allow_commands: boolean;
            /** @description what it works on */
            profile_id: string | null;
            /** @description true: it takes no more jobs */
            stopping: boolean;
            id: string;
            /** @enum {string} */
            state: "live" | "stopping" | "lost";
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            first_seen_at: string;
            /**
             * Format: date-time
             * @description RFC 3339, UTC
             */
            last_heartbeat_at: string;
            heartbeat_age_s: number;
        };
        WorkerGpu: {
            index: number;
            uuid: string;
            name: string;
            driver_version: string;
            /** @description null: the driver does not say (MIG devices, unified memory) */
            memory_total_bytes: number | null;
            compute_capability: string | null;
            /** @description null: the GPU does not have it */
            mig_mode: ("enabled" | "disabled") | null;
        };
        WorkerGpuInput: {
            index: number;
            uuid: string;
            name: string;
            driver_version: string;
            /** @description null: the driver does not say (MIG devices, unified memory) */
            memory_total_bytes: number | null;
            compute_capability: string | null;
            /** @description null: the GPU does not have it */
            mig_mode: ("enabled" | "disabled") | null;
        };
        WorkerPage: {
            items: components["schemas"]["Worker"][];
            /** @description there is one page */
            next_cursor: null;
        };
        WorkerRegistration: {
            version: string;
            pool: string;
            gpus: components["schemas"]["WorkerGpuInput"][];
            tools: {
                ncu: {
                    path: string;
                    version: string;
                } | null;
                nsys: {
                    path: string;
                    version: string;
                } | null;
                /** @description names that --set takes on this host */
                ncu_sets: string[];
            };
            workloads: components["schemas"]["DeclaredWorkloadInput"][];
            allow_commands: boolean;
            /** @description what it works on */
            profile_id: string | null;
            /** @description true: it takes no more jobs */
            stopping: boolean;
        };
        WorkloadPage: {
            items: components["schemas"]["KnownWorkload"][];
            /** @description there is one page */
            next_cursor: null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    livez: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alive"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It may */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description It may not: a check is false */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Text exposition format 0.0.4 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    problemType: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The type */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProblemType"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploadReport: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description These bytes were there before */
            200: {
                headers: {
                    /** @description Path of what was made */
                    location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedReport"];
                };
            };
            /** @description Stored */
            201: {
                headers: {
                    /** @description Path of what was made */
                    location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedReport"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `report_unreadable` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `quota_exceeded` */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report or timeline */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedReport"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listProfiles: {
        parameters: {
            query?: {
                state?: "queued" | "waiting_for_gpu" | "warming_up" | "capturing" | "analyzing" | "succeeded" | "failed" | "canceled";
                /** @description any spelling: `DeepSeek V3` finds `deepseek-ai/DeepSeek-V3` */
                model?: string;
                engine?: string;
                target?: string;
                session?: string;
                limit?: number;
                /** @description `next_cursor` of the page before, with the same filter */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    /** @description The next page, as rel="next" */
                    link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfilePage"];
                };
            };
            /** @description `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submitProfile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProfileRequest"];
            };
        };
        responses: {
            /** @description Taken in; poll `Location` */
            202: {
                headers: {
                    /** @description Path of what was made */
                    location?: string;
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            /** @description `malformed_json` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `validation_failed` or `use_benchmark_serving` or `no_such_workload` or `no_live_worker` or `no_such_report` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProfile: {
        parameters: {
            query?: {
                /** @description seconds to wait for the next change of state, at most 60 at a time */
                wait?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    /** @description The `wait` that was honoured, in seconds */
                    "preference-applied"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelProfile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Canceled */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_cancelable` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getResult: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KernelResult"] | components["schemas"]["PipelineResult"];
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_ready` */
            409: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRoofline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_ready` */
            409: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getStagesPicture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_ready` */
            409: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTimelinePicture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_ready` */
            409: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReportBytes: {
        parameters: {
            query?: {
                /** @description which report, in the order of the request */
                index?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    /** @description A file name */
                    "content-disposition"?: string;
                    /** @description SHA-256 of the whole file (RFC 9530) */
                    "repr-digest"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The part that `Range` asks for */
            206: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    /** @description Which part of the file this is */
                    "content-range"?: string;
                    /** @description A file name */
                    "content-disposition"?: string;
                    /** @description SHA-256 of the whole file (RFC 9530) */
                    "repr-digest"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `range_not_satisfiable` */
            416: {
                headers: {
                    /** @description Which part of the file this is */
                    "content-range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTimelineBytes: {
        parameters: {
            query?: {
                /** @description which timeline, in the order of the request or the outcome */
                index?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    /** @description A file name */
                    "content-disposition"?: string;
                    /** @description SHA-256 of the whole file (RFC 9530) */
                    "repr-digest"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The part that `Range` asks for */
            206: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    /** @description Which part of the file this is */
                    "content-range"?: string;
                    /** @description A file name */
                    "content-disposition"?: string;
                    /** @description SHA-256 of the whole file (RFC 9530) */
                    "repr-digest"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `range_not_satisfiable` */
            416: {
                headers: {
                    /** @description Which part of the file this is */
                    "content-range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTrace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        traceEvents: {
                            [key: string]: unknown;
                        }[];
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_ready` */
            409: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The log */
            200: {
                headers: {
                    /** @description Changes whenever the representation does */
                    etag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Not changed: `If-None-Match` names this version */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_ready` */
            409: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tellCapture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CaptureEvent"];
            };
        };
        responses: {
            /** @description What is to be done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CaptureOrder"];
                };
            };
            /** @description `malformed_json` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `superseded` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `validation_failed` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    finishCapture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Outcome"];
            };
        };
        responses: {
            /** @description The profile */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            /** @description `malformed_json` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `superseded` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `validation_failed` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putArtifact: {
        parameters: {
            query: {
                attempt: number;
                worker_id: string;
            };
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
            /** @description `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `superseded` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `quota_exceeded` */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWorker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The worker */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putWorker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkerRegistration"];
            };
        };
        responses: {
            /** @description Known now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
            /** @description `malformed_json` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `validation_failed` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWorkers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All workers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerPage"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWorkloads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All workloads */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadPage"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listLeases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeasePage"];
                };
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    requestLease: {
        parameters: {
            query?: {
                /** @description seconds to wait until it is held, at most 60 at a time */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LeaseRequest"];
            };
        };
        responses: {
            /** @description Held */
            201: {
                headers: {
                    /** @description Path of what was made */
                    location?: string;
                    /** @description The `wait` that was honoured, in seconds */
                    "preference-applied"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lease"];
                };
            };
            /** @description Waiting its turn; poll `Location`, which keeps its place */
            202: {
                headers: {
                    /** @description Path of what was made */
                    location?: string;
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    /** @description The `wait` that was honoured, in seconds */
                    "preference-applied"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lease"];
                };
            };
            /** @description `malformed_json` or `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `lease_ended` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `validation_failed` or `no_such_gpu` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLease: {
        parameters: {
            query?: {
                /** @description seconds to wait until it is held, at most 60 at a time */
                wait?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lease */
            200: {
                headers: {
                    /** @description Seconds after which asking again makes sense */
                    "retry-after"?: string;
                    /** @description The `wait` that was honoured, in seconds */
                    "preference-applied"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lease"];
                };
            };
            /** @description `invalid_query` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    releaseLease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It has ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    renewLease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LeaseRenewal"];
            };
        };
        responses: {
            /** @description Renewed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lease"];
                };
            };
            /** @description `malformed_json` or `bad_request` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unauthenticated` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `role_missing` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `not_acceptable` */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `lease_ended` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `validation_failed` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem, such as `uri_too_long` */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
