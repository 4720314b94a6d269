import { describe, expect, it } from '@jest/globals';
import { exportGroup, readGroupDocument, type GroupDocument } from '../../../src/store/group-document';
import { MemoryMetadataStore } from '../../../src/store/memory/memory-metadata-store';
import { MemoryNode } from '../../../src/store/memory/memory-node';
import { epochMillis } from '../../../src/domain/time';
import { freshKey, groupOf, leasesOf, memberId } from '../../contract/group-fixtures';
import { commitOf, LOCK_TTL_MS } from '../../contract/store-harness';

const NOW_MS = 1_750_000_000_000;
const ANNA = memberId('anna');

async function exported() {
  const node = new MemoryNode(() => epochMillis(NOW_MS + 7));
  const store = new MemoryMetadataStore(node);
  const group = groupOf(freshKey(), [ANNA], NOW_MS);
  const leases = leasesOf([ANNA], NOW_MS + 15_000);
  await store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: null });
  await store.commitAndUnlock(group, commitOf(null, group, 't', { leaseChanges: leases }));
  const outcome = await exportGroup(store, group);
  if (outcome.kind !== 'EXPORTED') throw new Error(outcome.kind);
  return { group, leases, document: outcome.document, node, store };
}

/** As it comes back from a file. */
const onPaper = (document: unknown): unknown => JSON.parse(JSON.stringify(document));

describe('the document of a group', () => {
  it('holds all that is needed to read the group again', async () => {
    const { group, leases, document } = await exported();
    expect(readGroupDocument(onPaper(document))).toEqual({
      kind: 'READ',
      key: { streamPrefix: group.streamPrefix, consumerGroup: group.consumerGroup },
      exportedAtMs: NOW_MS + 7,
      metadata: group,
      leases,
    });
  });

  it('shows its numbers to people without reading the aggregate', async () => {
    const { group, document } = await exported();
    expect(document).toMatchObject({
      format: 'redis-stream-coordinator/group/1',
      streamPrefix: group.streamPrefix,
      consumerGroup: 'billing',
      exportedAtMs: NOW_MS + 7,
      revision: group.storeRevision,
      metadataVersion: group.metadataVersion,
      redisId: 'node-1/repl-1',
      leases: [{ memberId: 'anna', deadlineMs: NOW_MS + 15_000 }],
    });
  });

  it('is made of readable groups only', async () => {
    const { group, node, store } = await exported();
    expect(await exportGroup(store, freshKey())).toMatchObject({ kind: 'MISSING' });
    const [[text, stored] = []] = node.groups;
    node.groups = new Map([[text!, { ...stored!, revision: '1' }]]);
    expect(await exportGroup(store, group)).toMatchObject({ kind: 'CORRUPT' });
    node.groups = new Map([[text!, { ...stored!, schemaVersion: '2' }]]);
    expect(await exportGroup(store, group)).toMatchObject({ kind: 'SCHEMA_UNSUPPORTED' });
  });

  it.each<readonly [string, (document: Record<string, unknown>) => unknown]>([
    ['another format', (document) => ({ ...document, format: 'redis-stream-coordinator/group/2' })],
    ['an unknown field', (document) => ({ ...document, remark: 'edited' })],
    ['no leases', ({ leases: _, ...document }) => document],
    ['a lease of a stranger', (document) => ({ ...document, leases: [{ memberId: 'zoe', deadlineMs: 1 }] })],
    ['a live member without lease', (document) => ({ ...document, leases: [] })],
    ['a lease without an end', (document) => ({ ...document, leases: [{ memberId: 'anna' }] })],
    ['another name', (document) => ({ ...document, consumerGroup: 'other' })],
    ['an impossible name', (document) => ({ ...document, streamPrefix: 'or{ders' })],
    ['another revision', (document) => ({ ...document, revision: 1 })],
    ['another version', (document) => ({ ...document, metadataVersion: 1 })],
    ['another write id', (document) => ({ ...document, writeId: 'another' })],
    ['no aggregate', (document) => ({ ...document, aggregate: null })],
    ['an edited aggregate', (document) => ({ ...document, aggregate: { shardCount: 8 } })],
    ['nothing', () => null],
    ['a list', () => []],
  ])('is refused with %s', async (_what, change) => {
    const { document } = await exported();
    const changed = change(onPaper(document) as Record<string, unknown>);
    expect(readGroupDocument(onPaper(changed))).toMatchObject({
      kind: 'CORRUPT',
      reason: expect.any(String),
    });
  });

  it('says which schema it does not know', async () => {
    const { document } = await exported();
    const later: GroupDocument = { ...document, schemaVersion: '2' };
    expect(readGroupDocument(onPaper(later))).toMatchObject({
      kind: 'SCHEMA_UNSUPPORTED',
      schemaVersion: '2',
    });
  });
});
