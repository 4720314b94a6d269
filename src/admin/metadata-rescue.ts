import { Inject, Injectable } from '@nestjs/common';
import { SECTION_ASSEMBLY } from '../critical-section/critical-section.module';
import { unreadableError } from '../critical-section/redis-lock';
import type { SectionAssembly } from '../critical-section/section-assembly';
import { CoordinatorTerminatingError } from '../critical-section/section-errors';
import { type SectionRequest, sectionRequest } from '../critical-section/section-request';
import type { AdminResult } from '../domain/coordinator/on-admin';
import { onRestoreGroup } from '../domain/coordinator/on-restore';
import type { GroupMetadata } from '../domain/group/group-metadata';
import { groupKeyText, type GroupKey } from '../domain/ids';
import { invalidRequest } from '../http/api-error';
import { groupNotFound } from '../http/group-not-found';
import { groupViewOf } from '../http/group.view';
import type { ExportedGroup, RepairedIndex } from '../protocol';
import { exportGroup, type GroupDocument, readGroupDocument } from '../store/group-document';
import type { GroupIndex } from '../store/group-index';
import { GROUP_INDEX } from '../store/store.tokens';
import { acceptedOrThrow } from './admin-refusals';
import { StreamRegistration } from './stream-registration';

/** Export, restore and repair of what the coordinator records. Each can be repeated. */
@Injectable()
export class MetadataRescue {
  constructor(
    @Inject(SECTION_ASSEMBLY) private readonly assembly: SectionAssembly,
    @Inject(GROUP_INDEX) private readonly index: GroupIndex,
    private readonly registration: StreamRegistration,
  ) {}

  /** @throws ApiError GROUP_NOT_FOUND, MetadataCorruptError, MetadataSchemaUnsupportedError, StoreError */
  async exportGroup(key: GroupKey): Promise<GroupDocument> {
    const outcome = await exportGroup(this.assembly.store, key);
    if (outcome.kind === 'EXPORTED') return outcome.document;
    throw outcome.kind === 'MISSING' ? groupNotFound(key) : unreadableError(key, outcome);
  }

  /** @throws ApiError INVALID_REQUEST for a document that is not one of this group; STATE_CONFLICT */
  async restore(key: GroupKey, document: ExportedGroup): Promise<SectionRequest<AdminResult<GroupMetadata>>> {
    if (this.assembly.gate.isClosed) throw new CoordinatorTerminatingError();
    const exported = groupIn(key, document);
    await this.registration.admitRestored(key, exported.shardCount);
    return sectionRequest({
      key,
      command: onRestoreGroup(exported),
      options: { replacesCorrupt: true },
      respond: async (result, state) => {
        const restored = acceptedOrThrow(key, result);
        await this.registration.enter(key, restored.shardCount);
        return groupViewOf(state.metadata ?? restored);
      },
    });
  }

  async repairIndex(): Promise<RepairedIndex> {
    if (this.assembly.gate.isClosed) throw new CoordinatorTerminatingError();
    return { added: await this.index.repair() };
  }
}

function groupIn(key: GroupKey, document: ExportedGroup): GroupMetadata {
  const read = readGroupDocument(document);
  switch (read.kind) {
    case 'READ':
      if (groupKeyText(read.key) === groupKeyText(key)) return read.metadata;
      throw invalidRequest([
        { field: 'document', rule: `must be of the group in the path, ${groupKeyText(key)}` },
      ]);
    case 'CORRUPT':
      throw invalidRequest([{ field: 'document', rule: `must be as it was exported: ${read.reason}` }]);
    case 'SCHEMA_UNSUPPORTED':
      throw invalidRequest([
        {
          field: 'document.schemaVersion',
          rule: `must be one that this coordinator knows, not ${read.schemaVersion}`,
        },
      ]);
  }
}
