/** Consumes a backlog by the SDK with a handler that does nothing. */
import { StreamConsumer } from 'redis-stream-coordinator/client';
import { ConsumePhase } from '../lib/consume-phase.mjs';
import { serve } from '../lib/processes.mjs';

serve({
  run: async ({ redis, keys, entries, ...options }) => {
    const phase = new ConsumePhase(redis, keys, options.consumerGroup, entries);
    const consumer = new StreamConsumer({ ...options, redis, handler: () => phase.handled() });
    consumer.on('error', (error) => console.error(error));
    await consumer.start();
    const result = await phase.whenAcked();
    await consumer.stop();
    return result;
  },
});
