import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RoutingQuery } from '../../../../src/client/coordinator-client';
import type { RoutingPort } from '../../../../src/client/publisher/publisher-options';
import type { StreamPublisher } from '../../../../src/client/publisher/stream-publisher';
import type { VersionStore } from '../../../../src/client/versions/version-store';
import type { ProducerRouting } from '../../../../src/protocol';
import { settle } from '../../../support/manual-clock';
import { PublisherWorld } from './publisher-world';
import { routingOf } from './routing-samples';

const REFRESH_MS = 5_000;

let world: PublisherWorld;
let queries: RoutingQuery[];
let routing: ProducerRouting;
let kept: Map<string, number>;
let errors: unknown[];

beforeEach(() => {
  world = new PublisherWorld();
  queries = [];
  routing = routingOf(50);
  kept = new Map();
  errors = [];
});

afterEach(async () => {
  await world.end();
});

const coordinator: RoutingPort = {
  producerRouting: async (_stream, _group, query = {}) => {
    queries.push(query);
    return routing;
  },
};

function publisherWith(versionStore?: VersionStore): StreamPublisher {
  const onError = (error: unknown): void => void errors.push(error);
  const store = versionStore === undefined ? {} : { versionStore };
  return world.publisherOf({ coordinator, onError, ...store });
}

const store: VersionStore = {
  load: async (key) => kept.get(key) ?? null,
  save: async (key, version) => void kept.set(key, version),
};

describe('a publisher whose coordinator went back', () => {
  it('takes the lower routing that says so, and goes on telling what it saw', async () => {
    const publisher = publisherWith();
    await publisher.start();
    routing = routingOf(40, { regressed: true, shardCount: 1 });
    await world.clock.advance(REFRESH_MS * 2);
    expect(queries).toEqual([
      {},
      { metadataVersion: 50, maxObservedVersion: 50 },
      { metadataVersion: 40, maxObservedVersion: 50 },
    ]);
    const publishing = publisher.publish('a', 'x');
    await settle();
    expect(world.appender.sent.map(({ streamKey }) => streamKey)).toEqual(['orders:0']);
    await world.appender.sent[0]!.settle({ kind: 'APPENDED', id: '1-1' });
    await publishing;
  });

  it('refreshes at once when a consumer of the process is told the version of the correction round', async () => {
    const publisher = publisherWith();
    await publisher.start();
    routing = routingOf(60);
    publisher.noteVersion(60);
    await world.clock.advance(100);
    expect(queries).toEqual([{}, { metadataVersion: 50, maxObservedVersion: 60 }]);
  });
});

describe('a publisher with a version store', () => {
  it('tells what an earlier process saw by its first refresh, and keeps what it sees', async () => {
    kept.set('orders:billing', 45);
    const publisher = publisherWith(store);
    await publisher.start();
    expect(queries).toEqual([{ maxObservedVersion: 45 }]);
    await world.clock.advance(1_000);
    expect(kept.get('orders:billing')).toBe(50);
    publisher.noteVersion(70);
    await publisher.close();
    expect(kept.get('orders:billing')).toBe(70);
  });

  it('starts without one that fails, and tells of it', async () => {
    const failing: VersionStore = {
      load: async () => Promise.reject(new Error('no disk')),
      save: store.save,
    };
    await publisherWith(failing).start();
    expect(queries).toEqual([{}]);
    expect(errors).toMatchObject([{ code: 'VERSION_STORE_FAILED', operation: 'load' }]);
  });

  it('starts without one that does not answer', async () => {
    const silent: VersionStore = { load: async () => new Promise(() => undefined), save: store.save };
    const started = publisherWith(silent).start();
    await world.clock.advance(2_000);
    await started;
    expect(errors).toMatchObject([{ code: 'VERSION_STORE_FAILED', operation: 'load' }]);
  });
});
