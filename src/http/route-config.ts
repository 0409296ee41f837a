import type { Principal, Role } from "../access/roles.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Role that a key needs here; `null`: no key at all. Left out: `reader` to look, `admin` for anything else. */
    role?: Role | null;
    /** The key needs the permission for raw files as well. */
    rawArtifacts?: boolean;
    /** Media types of the good answer; left out: application/json. */
    produces?: readonly string[];
    /** Media types that a body may have, told with 415 (Accept-Post). */
    consumes?: readonly string[];
  }

  interface FastifyRequest {
    /** Who sends the request; set before any handler runs. */
    principal: Principal;
    /** The request may take long because the client said so: it says nothing about latency. */
    wasAskedToWait: boolean;
  }
}

export const JSON_TYPE = "application/json";
