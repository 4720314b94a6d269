/** Publishes by the SDK with a fixed number in flight. */
import { StreamPublisher } from 'redis-stream-coordinator/client';
import { PAYLOAD, publishAtOnce } from '../lib/publish-phase.mjs';
import { serve } from '../lib/processes.mjs';

let publisher = null;

serve({
  start: async (options) => {
    publisher = new StreamPublisher(options);
    await publisher.start();
  },
  run: (phase) =>
    publishAtOnce(phase, async (number) => {
      await publisher.publish(`order-${number}`, { eventId: String(number), payload: PAYLOAD });
    }),
});
