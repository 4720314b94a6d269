import { routeTable } from '../../../../src/domain/routing/route-table';
import type { StreamPrefix } from '../../../../src/domain/ids';
import type { ProducerRouting } from '../../../../src/protocol';

/** The routing of stream `orders` at a version, with 2 shards unless said otherwise. */
export function routingOf(metadataVersion: number, changes: Partial<ProducerRouting> = {}): ProducerRouting {
  const shardCount = changes.shardCount ?? 2;
  return {
    streamPrefix: 'orders',
    consumerGroup: 'billing',
    metadataVersion,
    shardCount,
    streamKeyPattern: 'orders:{shardIndex}',
    shards: routeTable('orders' as StreamPrefix, shardCount),
    ...changes,
  };
}
