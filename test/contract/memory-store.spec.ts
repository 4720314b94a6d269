import { memoryHarness } from './memory-harness';
import { describeStoreContract } from './metadata-store.contract';

describeStoreContract('the in-memory adapters', { newHarness: async () => memoryHarness() });
