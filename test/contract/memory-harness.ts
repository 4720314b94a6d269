import { groupKeyText } from '../../src/domain/ids';
import { epochMillis } from '../../src/domain/time';
import { MemoryGroupIndex, MemoryLoopStore } from '../../src/store/memory/memory-group-index';
import { MemoryMetadataStore } from '../../src/store/memory/memory-metadata-store';
import { MemoryNode, withEntry, type MemoryGroup } from '../../src/store/memory/memory-node';
import {
  MemoryNoticeBus,
  MemoryStreamProvisioner,
  MemoryStreamRegistry,
} from '../../src/store/memory/memory-streams';
import type { MetadataStore } from '../../src/store/metadata-store';
import type { StoreHarness } from './store-harness';

const START_MS = 1_750_000_000_000;
const FOREIGN_HASH: MemoryGroup = {
  aggregate: null,
  revision: null,
  writeId: null,
  schemaVersion: null,
  layoutVersion: null,
  updatedAt: null,
  redisId: null,
  leases: new Map(),
  reports: new Map(),
};

/** In-memory adapters on a clock of their own. `breakStore` wraps the store, to break it. */
export async function memoryHarness(
  breakStore: (store: MetadataStore, node: MemoryNode) => MetadataStore = (store) => store,
): Promise<StoreHarness> {
  let nowMs = START_MS;
  const node = new MemoryNode(() => epochMillis(nowMs));
  return {
    store: breakStore(new MemoryMetadataStore(node), node),
    index: new MemoryGroupIndex(node),
    loop: new MemoryLoopStore(node),
    registry: new MemoryStreamRegistry(node),
    provisioner: new MemoryStreamProvisioner(node),
    notices: new MemoryNoticeBus(node),
    nowMs: async () => nowMs,
    passTime: async (ms) => {
      nowMs += ms;
    },
    tamper: async (key, field, value) => {
      const group = node.groups.get(groupKeyText(key));
      if (group !== undefined)
        node.groups = withEntry(node.groups, groupKeyText(key), { ...group, [field]: value });
    },
    tamperLease: async (key, memberId, text) => {
      const group = node.groups.get(groupKeyText(key));
      if (group === undefined) return;
      const leases = withEntry(group.leases, memberId, text);
      node.groups = withEntry(node.groups, groupKeyText(key), { ...group, leases });
    },
    // The memory knows no other kinds of value: a hash without any of our fields comes closest.
    misplace: async (key) => {
      node.groups = withEntry(node.groups, groupKeyText(key), FOREIGN_HASH);
    },
    dump: async (key) => {
      const group = node.groups.get(groupKeyText(key));
      if (group === undefined) return null;
      return JSON.stringify({ ...group, leases: [...group.leases], reports: [...group.reports] });
    },
    addIndexEntry: async (text, dueMs) => {
      node.index = withEntry(node.index, text, dueMs);
    },
    dropIndex: async () => {
      node.index = new Map();
    },
    misplaceIndex: async () => {
      node.index = new Map();
    },
    dueOf: async (key) => node.index.get(groupKeyText(key)) ?? null,
    setLastPass: async (lastPassMs) => {
      if (node.loop !== null) node.loop = { ...node.loop, lastPassMs };
    },
    setLastRedis: async (redisId) => {
      if (node.loop !== null) node.loop = { ...node.loop, redisId };
    },
    setRedisId: (redisId) => {
      node.redisId = redisId;
    },
    close: async () => undefined,
  };
}
