// The play: three consumers, one of which is killed, a fourth that joins, one that leaves, and a coordinator that is replaced,
// while a publisher streams the data. Returns what the verdict has to judge.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CoordinatorClient } from 'redis-stream-coordinator/client';
import { inputFile, partitionKeyOf, readRows } from './input.mjs';
import { countHandled, OutsideView, readLogs } from './outside-view.mjs';
import { Coordinator, logFileOf, openRedis } from './stage.mjs';
import { freePort, hasEnded, tailOf, until } from './troupe.mjs';

const SHARD_COUNT = 12;
const MEMBERS_PER_PROCESS = 2;
const HANDLER_MS = 5;
const BURST_SIZE = 150;
const BURST_INTERVAL_MS = 500;
const SHOW_INTERVAL_MS = 2_000;
const START_DEADLINE_MS = 60_000;
const PUBLISH_DEADLINE_MS = 300_000;
/** Without one more entry handled for this long, whatever is open is lost. Several leases. */
const SILENCE_MS = 15_000;

/** When what happens, as shares of what is published. */
const ACTS = { kill: 0.36, killAtLatest: 0.48, join: 0.52, restart: 0.62, leave: 0.76 };

export async function play(troupe, { sabotage, rowLimit, say }) {
  const run = randomBytes(3).toString('hex');
  const keyPrefix = `redis-stream-demo:${run}`;
  const redis = await openRedis(troupe);
  const coordinator = new Coordinator(troupe, redis.url, keyPrefix, await freePort());
  const stream = { streamPrefix: `flights-${run}`, consumerGroup: 'demo', shardCount: SHARD_COUNT };
  const view = new OutsideView(redis.url, coordinator.url, stream);
  try {
    await coordinator.start();
    say(
      `coordinator at ${coordinator.url}, Redis ${redis.isOurs ? 'started for the demo' : 'as REDIS_URL says'}`,
    );
    await createStream(coordinator.url, stream);
    say(`stream ${stream.streamPrefix} with ${SHARD_COUNT} shards created`);
    const company = new Company(
      troupe,
      { coordinatorUrl: coordinator.url, redisUrl: redis.url, ...stream },
      sabotage,
    );
    const result = await new Play({ troupe, coordinator, stream, view, company, say, rowLimit }).run();
    if (!redis.isOurs) {
      await view.deleteStream();
      await coordinator.stop(); // it writes a key with each pass of its loop
      await view.removeKeys(keyPrefix);
    }
    return result;
  } finally {
    await view.close();
  }
}

async function createStream(coordinatorUrl, { streamPrefix, consumerGroup, shardCount }) {
  const client = new CoordinatorClient({ coordinatorUrl, timeoutMs: START_DEADLINE_MS });
  await client.createStream(streamPrefix, {
    consumerGroup,
    initialShardCount: shardCount,
    requestedBy: 'demo',
  });
  await client.close();
}

/** The consumer processes that ever were, and their logs. */
class Company {
  logFiles = new Map();
  #members = new Map();

  constructor(troupe, connection, sabotage) {
    this.troupe = troupe;
    this.connection = connection;
    this.sabotage = sabotage;
  }

  async hire(name) {
    const logFile = logFileOf(this.troupe, name);
    writeFileSync(logFile, '');
    this.logFiles.set(name, logFile);
    const script = fileURLToPath(new URL('consumer.mjs', import.meta.url));
    const { sabotage, connection } = this;
    const settings = {
      ...connection,
      name,
      logFile,
      sabotage,
      concurrency: MEMBERS_PER_PROCESS,
      handlerMs: HANDLER_MS,
    };
    const member = this.troupe.start(name, process.execPath, [script, JSON.stringify(settings)], {
      talks: true,
    });
    this.#members.set(name, member);
    let hasStarted = false;
    member.child.on('message', ({ kind }) => (hasStarted ||= kind === 'started'));
    await until(`${name} has joined`, START_DEADLINE_MS, () => hasStarted, member);
  }

  get names() {
    return [...this.#members.keys()];
  }

  take(name) {
    const member = this.#members.get(name);
    this.#members.delete(name);
    return member;
  }

  /** A consumer that ended on its own breaks the demo. */
  check() {
    for (const member of this.#members.values()) {
      if (hasEnded(member)) throw new Error(`${member.name} ended on its own:\n${tailOf(member)}`);
    }
  }
}

class Play {
  #published = 0;
  #isDone = false;
  #killed = null;

  constructor(parts) {
    Object.assign(this, parts);
    this.file = inputFile();
    this.keys = readRows(this.file, this.rowLimit).map(partitionKeyOf);
  }

  async run() {
    for (const name of ['ann', 'bob', 'cal']) await this.company.hire(name);
    this.say('three consumer processes have joined: ann, bob, cal');
    const firstEpoch = await this.view.assignmentEpoch();
    const publisher = this.#startPublisher();
    this.say(`publishing ${this.keys.length} entries`);
    const showing = setInterval(() => void this.#show(), SHOW_INTERVAL_MS);
    try {
      await this.#performActs(publisher);
      await this.#untilDone(publisher);
      await this.#untilHandledOrSilent();
    } finally {
      clearInterval(showing);
    }
    const rebalances = (await this.view.assignmentEpoch()) - firstEpoch;
    await this.#bowOut();
    return { keys: this.keys, logs: readLogs(this.company.logFiles), rebalances, killed: this.#killed };
  }

  #startPublisher() {
    const script = fileURLToPath(new URL('publisher.mjs', import.meta.url));
    const { coordinatorUrl, redisUrl, streamPrefix, consumerGroup } = this.company.connection;
    const settings = {
      ...{ coordinatorUrl, redisUrl, streamPrefix, consumerGroup },
      ...{
        inputFile: this.file,
        rowLimit: this.rowLimit,
        burstSize: BURST_SIZE,
        burstIntervalMs: BURST_INTERVAL_MS,
      },
    };
    const publisher = this.troupe.start('publisher', process.execPath, [script, JSON.stringify(settings)], {
      talks: true,
    });
    publisher.child.on('message', (message) => {
      if (message.kind === 'published') this.#published = message.count;
      if (message.kind === 'done') this.#isDone = true;
    });
    return publisher;
  }

  async #performActs(publisher) {
    await this.#untilPublished(ACTS.kill, publisher);
    await this.#killTheBusiest(publisher);
    await this.#untilPublished(ACTS.join, publisher);
    await this.company.hire('dee');
    this.say('dee has joined');
    await this.#untilPublished(ACTS.restart, publisher);
    const { code, signal } = await this.coordinator.stop();
    this.say(
      `the coordinator has stopped (${signal ?? code}); consumers and publisher go on with their leases`,
    );
    await this.coordinator.start();
    this.say('a new coordinator process has taken over');
    await this.#untilPublished(ACTS.leave, publisher);
    const leaving = this.company.names[0];
    await this.troupe.stop(this.company.take(leaving));
    this.say(`${leaving} has left (SIGTERM)`);
  }

  /** Right after a burst, when consumers have work in hand. */
  async #killTheBusiest(publisher) {
    const latest = this.keys.length * ACTS.killAtLatest;
    for (;;) {
      await this.#nextBurst(publisher);
      const [busiest] = await this.#byPending();
      if (busiest.pending === 0 && this.#published < latest) continue;
      await this.troupe.kill(this.company.take(busiest.name));
      const unacked = await this.view.pendingOf(busiest.name);
      this.#killed = { name: busiest.name, unacked, share: this.#published / this.keys.length };
      this.say(`${busiest.name} was killed (SIGKILL) with ${unacked} entries unacknowledged, by XPENDING`);
      return;
    }
  }

  async #byPending() {
    const counted = this.company.names.map(async (name) => ({
      name,
      pending: await this.view.pendingOf(name),
    }));
    return (await Promise.all(counted)).sort((a, b) => b.pending - a.pending);
  }

  async #nextBurst(publisher) {
    const before = this.#published;
    await until(
      'the next burst',
      PUBLISH_DEADLINE_MS,
      () => this.#published > before || this.#isDone,
      publisher,
    );
  }

  async #untilPublished(share, publisher) {
    const count = this.keys.length * share;
    const reached = () => {
      this.company.check();
      return this.#published >= count || this.#isDone;
    };
    await until(`${Math.round(count)} entries are published`, PUBLISH_DEADLINE_MS, reached, publisher);
  }

  async #untilDone(publisher) {
    await this.#untilPublished(1, publisher);
    await until('the publisher ends', START_DEADLINE_MS, () => this.#isDone || hasEnded(publisher));
    if (!this.#isDone) throw new Error(`the publisher failed:\n${tailOf(publisher)}`);
    this.say('everything is published');
  }

  async #untilHandledOrSilent() {
    let handled = -1;
    let changedAtMs = performance.now();
    await until('everything is handled, or nothing is any more', PUBLISH_DEADLINE_MS, () => {
      this.company.check();
      const count = countHandled(readLogs(this.company.logFiles));
      if (count !== handled) changedAtMs = performance.now();
      handled = count;
      return count === this.keys.length || performance.now() - changedAtMs > SILENCE_MS;
    });
  }

  async #bowOut() {
    await Promise.all(this.company.names.map((name) => this.troupe.stop(this.company.take(name))));
  }

  async #show() {
    const handled = countHandled(readLogs(this.company.logFiles));
    const owners = await this.view.owners();
    this.say(
      `published ${this.#published}, handled ${handled} | ${owners === null ? 'no coordinator' : shown(owners)}`,
    );
  }
}

/** `ann: 0 3 | bob: 1 2`, by process. */
function shown(owners) {
  const byProcess = new Map();
  for (const [member, shards] of Object.entries(owners)) {
    const name = member.replace(/-m\d+$/, '');
    byProcess.set(name, [...(byProcess.get(name) ?? []), ...shards.map(({ shardIndex }) => shardIndex)]);
  }
  return [...byProcess]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, shards]) => `${name}: ${shards.sort((a, b) => a - b).join(' ') || '-'}`)
    .join(' | ');
}
