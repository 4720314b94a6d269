// What can be seen of the run from outside of its processes: who owns what (the coordinator's monitoring API), what is
// unacknowledged (Redis), how much was handled (the logs).
import { Redis } from 'ioredis';
import { CoordinatorClient } from 'redis-stream-coordinator/client';
import { readLog } from './verdict.mjs';

const MONITORING_TIMEOUT_MS = 1_000;
const DELETION_TIMEOUT_MS = 10_000;

export class OutsideView {
  #redis;
  #coordinator;
  #stream;

  constructor(redisUrl, coordinatorUrl, stream) {
    this.#redis = new Redis(redisUrl, { maxRetriesPerRequest: 2 });
    this.#redis.on('error', () => undefined); // the command that needed it rejects
    this.#coordinator = new CoordinatorClient({ coordinatorUrl, timeoutMs: MONITORING_TIMEOUT_MS });
    this.#stream = stream;
  }

  /** Pending entries of all members of a process. */
  async pendingOf(processName) {
    const { streamPrefix, consumerGroup, shardCount } = this.#stream;
    let pending = 0;
    for (let shard = 0; shard < shardCount; shard++) {
      const summary = await this.#redis.xpending(`${streamPrefix}:${shard}`, consumerGroup);
      for (const [consumer, count] of summary[3] ?? []) {
        if (consumer.startsWith(`${processName}-m`)) pending += Number(count);
      }
    }
    return pending;
  }

  /** Shards by member, or null while no coordinator answers. */
  async owners() {
    const { streamPrefix, consumerGroup } = this.#stream;
    try {
      return (await this.#coordinator.assignments(streamPrefix, consumerGroup)).currentAssignments;
    } catch {
      return null;
    }
  }

  async assignmentEpoch() {
    const { streamPrefix, consumerGroup } = this.#stream;
    return (await this.#coordinator.monitoredGroup(streamPrefix, consumerGroup)).assignmentEpoch;
  }

  async deleteStream() {
    const { streamPrefix, consumerGroup } = this.#stream;
    const body = { requestedBy: 'demo', reason: 'the demo is over', force: true, purgeStreams: true };
    await this.#coordinator.deleteGroup(streamPrefix, consumerGroup, body, {
      timeoutMs: DELETION_TIMEOUT_MS,
    });
  }

  /** What is left of the demo in a Redis that is not its own. */
  async removeKeys(keyPrefix) {
    const { streamPrefix } = this.#stream;
    for (const pattern of [`${keyPrefix}*`, `{${streamPrefix}:*`, `${streamPrefix}:*`]) {
      for await (const keys of this.#redis.scanStream({ match: pattern, count: 500 })) {
        if (keys.length > 0) await this.#redis.unlink(...keys);
      }
    }
  }

  async close() {
    this.#redis.disconnect();
    await this.#coordinator.close();
  }
}

export function readLogs(logFiles) {
  return [...logFiles].map(([processName, file]) => readLog(processName, file));
}

/** Rows handled at least once. */
export function countHandled(logs) {
  const rows = new Set();
  for (const { events } of logs)
    for (const event of events) if (event.kind === 'handled') rows.add(event.row);
  return rows.size;
}
