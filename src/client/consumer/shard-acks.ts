import { AckBuffer } from './ack-buffer';
import type { WorkerEnvironment } from './worker-environment';

/** The acks of one shard under one tenure: sent to its Redis group, counted, its trouble reported. */
export function shardAcks(
  environment: WorkerEnvironment,
  streamKey: string,
  told: { readonly onConfirmed: (lastId: string) => void; readonly onSettled: () => void },
): AckBuffer {
  const { clock, turn, commands, metrics, faults, mayWork } = environment;
  return new AckBuffer({
    ...{ clock, turn, onSettled: told.onSettled, mayAck: mayWork },
    send: async (ids) => commands.ack(streamKey, ids),
    onConfirmed: (ids) => {
      told.onConfirmed(ids.at(-1) ?? '');
      metrics.entries('acked', ids.length);
    },
    onRefused: (count) => metrics.entries('ack_refused', count),
    onFailure: (error) => faults.report('ACK', error),
  });
}
