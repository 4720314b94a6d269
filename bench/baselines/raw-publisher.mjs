/**
 * Baseline of the publisher: XADD of the same entry by ioredis, as many in flight, to the shards in turn. Of its settings the
 * best one counts:
 * PLAIN           every command is written by itself
 * AUTO_PIPELINED  the commands of one turn of the event loop in one pipeline (an option of ioredis)
 * IN_BATCHES      as many as may be in flight in one pipeline, then the next when all are answered
 */
import { Redis } from 'ioredis';
import { PAYLOAD, publishAtOnce } from '../lib/publish-phase.mjs';
import { serve } from '../lib/processes.mjs';

const OPTIONS = { PLAIN: {}, AUTO_PIPELINED: { enableAutoPipelining: true }, IN_BATCHES: {} };

let streamKeys = [];
const clients = {};
const entryOf = (number) => [
  streamKeys[number % streamKeys.length],
  '*',
  ...['eventId', String(number), 'payload', PAYLOAD],
];

async function run({ setting, inFlight, durationMs }) {
  const client = clients[setting];
  if (setting !== 'IN_BATCHES') {
    return publishAtOnce({ inFlight, durationMs }, (number) => client.xadd(...entryOf(number)));
  }
  let number = 0;
  const batches = await publishAtOnce({ inFlight: 1, durationMs }, async () => {
    const pipeline = client.pipeline();
    for (let index = 0; index < inFlight; index += 1) pipeline.xadd(...entryOf((number += 1)));
    await pipeline.exec();
  });
  return { ...batches, count: batches.count * inFlight };
}

serve({
  start: async ({ redis, keys }) => {
    streamKeys = keys;
    for (const [name, options] of Object.entries(OPTIONS)) {
      clients[name] = new Redis(redis, options);
      await clients[name].ping();
    }
    return Object.keys(OPTIONS);
  },
  run,
});
