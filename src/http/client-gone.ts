import type { FastifyReply } from 'fastify';

/** Aborted when the client closes its connection before it was answered: nobody waits for a long poll any more. */
export function clientGoneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
