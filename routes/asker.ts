import type { FastifyRequest } from "fastify";
import { hasRole } from "../src/access/roles.ts";
import type { Asker } from "../src/profiles/ports.ts";

/** Who sends the request, as the use cases see it. */
export const asker = ({ principal }: FastifyRequest): Asker => ({
  keyId: principal.keyId,
  isAdmin: hasRole(principal, "admin"),
});
