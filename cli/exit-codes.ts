/**
 * What the process says when it ends. Fixed: scripts rely on them. A number is never reused for something else; new ones
 * are added behind the last.
 */
export const EXIT = {
  ok: 0,
  /** A fault of this program. */
  internal: 1,
  /** Unknown flag, wrong value, flags that exclude each other. */
  usage: 2,
  /** A file is missing, cannot be read, or is not a report. */
  unreadable: 3,
  /** The reports hold no kernel, or none that matches the target. */
  noKernel: 4,
  /** A report ends early, and --strict was given. The output was written. */
  partial: 5,
  /** The service could not be started or reached. */
  unavailable: 6,
  /** The profile ended as failed or canceled. */
  profileFailed: 7,
  /** `worker check`: the host cannot be used as it is. */
  hostNotReady: 8,
  /** A timeline cannot be trusted, so nothing was ranked. */
  untrusted: 9,
  /** Ended by SIGINT, as shells count it. */
  interrupted: 130,
  /** Ended by SIGTERM. */
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The list as `--help` shows it. */
export const EXIT_HELP = `
Exit codes:
  0  done
  1  internal error
  2  wrong usage
  3  an input is missing, unreadable or not a report
  4  no kernel, or none that matches the target
  5  a report ends early and --strict was given (the output was written)
  6  the service could not be started or reached
  7  the profile failed or was canceled
  8  worker check: the host cannot be used as it is
  9  a timeline cannot be trusted, so nothing was ranked
  130, 143  ended by SIGINT, SIGTERM`;
