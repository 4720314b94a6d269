import { Inject, Injectable } from '@nestjs/common';
import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import { type GroupKey, groupKeyText } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import { ConfirmedGroups } from './confirmed-groups';
import type { SectionAssembly } from './section-assembly';
import { MetadataCorruptError, MetadataSchemaUnsupportedError } from './section-errors';
import { SECTION_ASSEMBLY } from './critical-section.module';

/** A group as Redis holds it at this moment. */
export interface ReadGroup {
  readonly metadata: GroupMetadata;
  readonly leases: Leases;
  readonly redisNowMs: EpochMillis;
  /** Identity of the Redis that answered. */
  readonly redisId: string;
}

/** Reads groups without lock or section, for routes that change nothing. */
@Injectable()
export class GroupReader {
  constructor(
    @Inject(SECTION_ASSEMBLY) private readonly assembly: SectionAssembly,
    private readonly confirmed: ConfirmedGroups,
  ) {}

  /**
   * The group, or when it was found missing.
   * @throws MetadataCorruptError, MetadataSchemaUnsupportedError, StoreError
   */
  async read(
    key: GroupKey,
  ): Promise<ReadGroup | { readonly metadata: null; readonly redisNowMs: EpochMillis }> {
    const text = groupKeyText(key);
    const outcome = await this.assembly.store.load(key, this.confirmed.get(text)?.metadata);
    switch (outcome.kind) {
      case 'LOADED':
        this.confirmed.confirmRead(text, outcome);
        return outcome;
      case 'MISSING':
        return { metadata: null, redisNowMs: outcome.redisNowMs };
      case 'CORRUPT':
        throw new MetadataCorruptError(text, outcome.reason);
      case 'SCHEMA_UNSUPPORTED':
        throw new MetadataSchemaUnsupportedError(text, outcome.schemaVersion, outcome.layoutVersion);
    }
  }
}
