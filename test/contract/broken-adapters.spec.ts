import { describe, expect, it } from '@jest/globals';
import { groupKeyText, type GroupKey } from '../../src/domain/ids';
import { withEntry, type MemoryNode } from '../../src/store/memory/memory-node';
import type { GroupCommit, MetadataStore } from '../../src/store/metadata-store';
import { memoryHarness } from './memory-harness';
import { brokenPromises } from './metadata-store.contract';

/** A store that keeps every promise but the ones that `broken` replaces. */
function brokenBy(store: MetadataStore, broken: Partial<MetadataStore>): MetadataStore {
  return {
    lockAndLoad: (key, request) => store.lockAndLoad(key, request),
    commitAndUnlock: (key, commit) => store.commitAndUnlock(key, commit),
    unlock: (key, token) => store.unlock(key, token),
    load: (key, known) => store.load(key, known),
    renewLeases: (key, renewal) => store.renewLeases(key, renewal),
    loadReports: (key) => store.loadReports(key),
    ...broken,
  };
}

type Breaking = (store: MetadataStore, node: MemoryNode) => Partial<MetadataStore>;

function storedBase(node: MemoryNode, key: GroupKey, commit: GroupCommit): GroupCommit {
  const stored = node.groups.get(groupKeyText(key));
  if (stored === undefined || commit.base === null) return commit;
  return {
    ...commit,
    base: { revision: Number(stored.revision), writeId: stored.writeId } as GroupCommit['base'],
  };
}

function setLock(node: MemoryNode, key: GroupKey, token: string | null): void {
  const lock = token === null ? null : { token, untilMs: node.now() + 1_000 };
  node.locks = withEntry(node.locks, groupKeyText(key), lock);
}

const BROKEN: readonly (readonly [fault: string, broken: Breaking, promise: RegExp])[] = [
  [
    'accepts a stale writer',
    (store, node) => ({
      commitAndUnlock: (key, commit) => store.commitAndUnlock(key, storedBase(node, key, commit)),
    }),
    /older revision, and writes nothing/,
  ],
  [
    'compares the revision but not the write id',
    (store, node) => ({
      commitAndUnlock: (key, commit) => {
        const stored = node.groups.get(groupKeyText(key));
        const isSameRevision = stored?.revision === String(commit.base?.revision);
        return store.commitAndUnlock(key, isSameRevision ? storedBase(node, key, commit) : commit);
      },
    }),
    /another write of the same revision/,
  ],
  [
    'tears a commit: writes the leases but not the aggregate',
    (store) => ({
      commitAndUnlock: (key, commit) =>
        store.commitAndUnlock(key, {
          ...commit,
          next: commit.base === null || commit.next === null ? commit.next : 'UNCHANGED',
        }),
    }),
    /writes all of it/,
  ],
  [
    'writes leases before it refuses',
    (store, node) => ({
      commitAndUnlock: async (key, commit) => {
        const stored = node.groups.get(groupKeyText(key));
        if (stored !== undefined) {
          const leases = new Map(stored.leases);
          for (const [id, deadlineMs] of commit.leaseChanges) leases.set(id, String(deadlineMs));
          node.groups = withEntry(node.groups, groupKeyText(key), { ...stored, leases });
        }
        return store.commitAndUnlock(key, commit);
      },
    }),
    /older revision, and writes nothing/,
  ],
  [
    'commits without its lock, if nobody else holds one',
    (store, node) => ({
      commitAndUnlock: (key, commit) => {
        if (node.lockOf(groupKeyText(key)) === null) setLock(node, key, commit.token);
        return store.commitAndUnlock(key, commit);
      },
    }),
    /whose lock ran out, even if nobody else wrote/,
  ],
  [
    'commits though another holds the lock',
    (store, node) => ({
      commitAndUnlock: (key, commit) => {
        setLock(node, key, commit.token);
        return store.commitAndUnlock(key, commit);
      },
    }),
    /whose lock another took/,
  ],
  [
    'keeps the lock after a commit',
    (store, node) => ({
      commitAndUnlock: async (key, commit) => {
        const outcome = await store.commitAndUnlock(key, commit);
        if (outcome.kind === 'COMMITTED') setLock(node, key, commit.token);
        return outcome;
      },
    }),
    /releases the lock with the commit/,
  ],
  [
    'unlocks without looking at the token',
    (_store, node) => ({ unlock: async (key) => setLock(node, key, null) }),
    /unlocks nothing with the token of another/,
  ],
  [
    'gives the lock to everybody',
    (store, node) => ({
      lockAndLoad: (key, request) => {
        setLock(node, key, null);
        return store.lockAndLoad(key, request);
      },
    }),
    /exactly one of many/,
  ],
  [
    'ends a tenure whose lease was renewed',
    (store) => ({
      commitAndUnlock: (key, commit) => store.commitAndUnlock(key, { ...commit, expectedLeases: new Map() }),
    }),
    /renewed since it was read/,
  ],
  [
    'revives a lease that ran out',
    (store, node) => ({
      renewLeases: (key, renewal) => {
        const stored = node.groups.get(groupKeyText(key));
        if (stored !== undefined) {
          const leases = new Map(
            [...stored.leases].map(([id, ms]) => [id, String(Math.max(Number(ms), node.now() + 1))] as const),
          );
          node.groups = withEntry(node.groups, groupKeyText(key), { ...stored, leases });
        }
        return store.renewLeases(key, renewal);
      },
    }),
    /revives no lease/,
  ],
  [
    'renews whatever the heartbeat was judged on',
    (store) => ({
      renewLeases: async (key, renewal) => {
        const current = await store.load(key);
        return store.renewLeases(
          key,
          current.kind === 'LOADED' ? { ...renewal, base: current.metadata } : renewal,
        );
      },
    }),
    /no longer the one that was judged/,
  ],
  [
    'takes the known value for current without looking',
    (store) => ({
      load: async (key, known) => {
        const read = await store.load(key);
        return read.kind === 'LOADED' && known !== undefined ? { ...read, metadata: known } : read;
      },
    }),
    /older revision or another write/,
  ],
  [
    'keeps the lock of a group that it could not read',
    (store, node) => ({
      lockAndLoad: async (key, request) => {
        const outcome = await store.lockAndLoad(key, request);
        if (outcome.kind === 'CORRUPT') setLock(node, key, request.token);
        return outcome;
      },
    }),
    /holds no lock then/,
  ],
  [
    'renews on any Redis',
    (store, node) => ({
      renewLeases: async (key, renewal) => {
        const { redisId } = node;
        node.redisId = renewal.base.redisId;
        try {
          return await store.renewLeases(key, renewal);
        } finally {
          node.redisId = redisId;
        }
      },
    }),
    /renews nothing on another Redis/,
  ],
  [
    'writes on any Redis',
    (store, node) => ({
      commitAndUnlock: (key, commit) => {
        const { next } = commit;
        const isWrite = next !== null && next !== 'UNCHANGED';
        const changed = isWrite ? { ...next, redisId: node.redisId } : next;
        return store.commitAndUnlock(key, { ...commit, next: changed });
      },
    }),
    /decided on what another Redis held/,
  ],
  [
    'takes the Redis that wrote for the one that answers',
    (store) => ({
      load: async (key, known) => {
        const read = await store.load(key, known);
        return read.kind === 'LOADED' ? { ...read, redisId: read.metadata.redisId } : read;
      },
    }),
    /and which one answers/,
  ],
];

describe('the store contract', () => {
  it('finds nothing to say against the sound adapter', async () => {
    expect([...(await brokenPromises(async () => memoryHarness()))]).toEqual([]);
  });

  it.each(BROKEN)('fails an adapter that %s', async (_fault, broken, promise) => {
    const harness = async () => memoryHarness((store, node) => brokenBy(store, broken(store, node)));
    const found = [...(await brokenPromises(harness)).keys()];
    expect(found.some((text) => promise.test(text))).toBe(true);
  });
});
