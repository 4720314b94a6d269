// A consumer in a process of its own, as an application would have it. What the entries say is what its handler does; each
// thing that happens is a line in its log at once, so that a SIGKILL leaves what really happened.
import { existsSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { NonRetryableError, RetryableError, StreamConsumer } from 'redis-stream-coordinator/client';

const { logFile, options } = JSON.parse(process.argv[2]);
const GATE_POLL_MS = 5;
const log = openSync(logFile, 'a');

function note(what, details = {}) {
  writeSync(log, `${JSON.stringify({ what, atMs: Date.now(), pid: process.pid, ...details })}\n`);
}

/** What an entry asks for in its field `kind`. */
const KINDS = {
  plain: () => undefined,
  /** Is at work until the file exists. */
  gate: async ({ fields }) => {
    while (!existsSync(fields.file)) await sleep(GATE_POLL_MS);
  },
  /** The first attempt ignores its signal, and never ends. */
  hang: (_message, { signal, deliveryCount }, entry) => {
    if (deliveryCount > 1) return undefined;
    signal.addEventListener('abort', () => note('aborted', entry), { once: true });
    return new Promise(() => undefined);
  },
  throw: () => {
    throw new TypeError('this entry is never liked');
  },
  refuse: () => {
    throw new NonRetryableError('this entry makes no sense');
  },
  /** Needs something that is away until the file exists. */
  downstream: ({ fields }) => {
    if (!existsSync(fields.file)) throw new RetryableError('downstream is away');
  },
  exit: () => process.exit(1),
};

async function handler(message, context) {
  const { id, shard, fields } = message;
  const { memberId, deliveryCount, fencingToken } = context;
  const entry = { id, shard, n: Number(fields.n), memberId, deliveryCount, fencingToken };
  note('started', entry);
  await KINDS[fields.kind](message, context, entry);
  note('handled', entry);
}

const metricsRegistry = new Registry();
const consumer = new StreamConsumer({ ...options, handler, metricsRegistry });
for (const event of ['assigned', 'revoked', 'fenced', 'leaseLost', 'correction', 'groupMissing']) {
  consumer.on(event, (details) => note(event, details));
}
consumer.on('error', ({ name, code, message }) => note('error', { name, code, message }));

process.once('SIGTERM', () => {
  consumer.stop().then(async () => {
    const entries = await metricsRegistry.getSingleMetric('redis_stream_client_entries_total').get();
    const counts = entries.values.map(({ labels, value }) => [labels.outcome, value]);
    note('stopped', { entries: Object.fromEntries(counts) });
    process.exit(0);
  });
});

await consumer.start();
note('joined');
