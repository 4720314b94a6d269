/**
 * One backlog being consumed, the same for both sides: from the first entry handled until every entry is handled and acked,
 * which Redis itself says.
 */
import { Redis } from 'ioredis';
import { waitUntil } from './processes.mjs';

const DEADLINE_MS = 120_000;

export class ConsumePhase {
  constructor(redisUrl, streamKeys, group, entries) {
    this.client = new Redis(redisUrl);
    this.streamKeys = streamKeys;
    this.group = group;
    this.entries = entries;
    this.count = 0;
    this.startedAtMs = 0;
    this.cpuBefore = null;
  }

  /** The handler. */
  handled() {
    if (this.count === 0) {
      this.startedAtMs = performance.now();
      this.cpuBefore = process.cpuUsage();
    }
    this.count += 1;
  }

  async whenAcked() {
    await waitUntil('every entry is handled', DEADLINE_MS, () => this.count >= this.entries);
    await waitUntil('every entry is acked', DEADLINE_MS, async () => {
      const pending = await Promise.all(this.streamKeys.map((key) => this.client.xpending(key, this.group)));
      return pending.every(([total]) => total === 0);
    });
    const elapsedMs = performance.now() - this.startedAtMs;
    const cpu = process.cpuUsage(this.cpuBefore);
    this.client.disconnect();
    if (this.count !== this.entries) throw new Error(`${this.count} of ${this.entries} entries were handled`);
    return {
      perSecond: (this.count / elapsedMs) * 1_000,
      cpuMicros: (cpu.user + cpu.system) / this.count,
    };
  }
}
