/**
 * Baseline of the publisher: XADD of the same entry by ioredis, as many in flight, to the shards in turn. Two settings of
 * ioredis, of which the better one counts: every command written by itself, and those of one turn of the event loop in one
 * pipeline.
 */
import { Redis } from 'ioredis';
import { PAYLOAD, publishAtOnce } from '../lib/publish-phase.mjs';
import { serve } from '../lib/processes.mjs';

const SETTINGS = { PLAIN: {}, AUTO_PIPELINED: { enableAutoPipelining: true } };

let streamKeys = [];
const clients = {};

serve({
  start: async ({ redis, keys }) => {
    streamKeys = keys;
    for (const [name, options] of Object.entries(SETTINGS)) {
      clients[name] = new Redis(redis, options);
      await clients[name].ping();
    }
    return Object.keys(SETTINGS);
  },
  run: ({ setting, ...phase }) =>
    publishAtOnce(phase, async (number) => {
      const key = streamKeys[number % streamKeys.length];
      await clients[setting].xadd(key, '*', 'eventId', String(number), 'payload', PAYLOAD);
    }),
});
