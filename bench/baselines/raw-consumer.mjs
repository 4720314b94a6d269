/**
 * Baseline of the consumer: one XREADGROUP COUNT 100 over all shards by ioredis, a call per entry that does nothing, and the
 * acks of a read in one pipeline, one XACK per shard. Two settings, of which the better one counts: one thing after the other,
 * and the next read under way while the entries of the last one are handled and acked.
 */
import { Redis } from 'ioredis';
import { ConsumePhase } from '../lib/consume-phase.mjs';
import { serve } from '../lib/processes.mjs';

const COUNT = 100;

async function consume({ redis, keys, consumerGroup, entries, setting }) {
  const client = new Redis(redis);
  const phase = new ConsumePhase(redis, keys, consumerGroup, entries);
  const from = ['GROUP', consumerGroup, 'raw', 'COUNT', COUNT, 'STREAMS', ...keys, ...keys.map(() => '>')];
  const read = () => client.xreadgroup(...from);

  const handleAndAck = (reply) => {
    const acks = client.pipeline();
    for (const [key, found] of reply) {
      const ids = [];
      for (const [id, fields] of found) {
        phase.handled(id, fields);
        ids.push(id);
      }
      acks.xack(key, consumerGroup, ...ids);
    }
    return acks.exec();
  };

  if (setting === 'SERIAL') {
    for (let reply = await read(); reply !== null; reply = await read()) await handleAndAck(reply);
  } else {
    let acked = null;
    for (let reply = await read(); reply !== null; ) {
      const next = read();
      await acked; // at most one round of acks is open
      acked = handleAndAck(reply);
      reply = await next;
    }
    await acked;
  }
  const result = await phase.whenAcked();
  client.disconnect();
  return result;
}

serve({ settings: () => ['SERIAL', 'OVERLAPPED'], run: consume });
