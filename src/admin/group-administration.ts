import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { type SectionRequest, sectionRequest } from '../critical-section/section-request';
import { CoordinatorTerminatingError } from '../critical-section/section-errors';
import { ShutdownGate } from '../critical-section/shutdown-gate';
import {
  type AdminResult,
  type DeletedGroup,
  onCreateGroup,
  onDeleteGroup,
} from '../domain/coordinator/on-admin';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey, Incarnation } from '../domain/ids';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { ApiError, invalidRequest } from '../http/api-error';
import { groupNotFound } from '../http/group-not-found';
import type { CreatedStream, GroupView } from '../protocol';
import type { StreamProvisioner } from '../store/stream-provisioner';
import { STREAM_PROVISIONER } from '../store/store.tokens';
import type { DeleteGroupDto } from './admin.dto';
import { acceptedOrThrow } from './admin-refusals';
import { StreamRegistration } from './stream-registration';

/** Creates and deletes groups: the steps around the section, each of which can be repeated. */
@Injectable()
export class GroupAdministration {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    @Inject(STREAM_PROVISIONER) private readonly provisioner: StreamProvisioner,
    private readonly registration: StreamRegistration,
    private readonly reader: GroupReader,
    private readonly gate: ShutdownGate,
  ) {}

  async existing(key: GroupKey): Promise<GroupMetadata> {
    const { metadata } = await this.reader.read(key);
    if (metadata === null) throw groupNotFound(key);
    return metadata;
  }

  /** Registers, then asks the section to create, whose effect provisions the streams. */
  async create(
    key: GroupKey,
    wantedShardCount: number | null,
    viewOf: (metadata: GroupMetadata) => GroupView | CreatedStream,
  ): Promise<SectionRequest<AdminResult<GroupMetadata>>> {
    this.refuseWhenTerminating();
    const { maxShardCount } = this.options;
    if (wantedShardCount !== null && wantedShardCount > maxShardCount) {
      const rule = `must be an integer from 1 to ${maxShardCount}`;
      throw invalidRequest([{ field: 'initialShardCount', rule }]);
    }
    const { shardCount, grantsFromMs, wasThere } = await this.registration.register(key, wantedShardCount);
    const incarnation = randomUUID() as string as Incarnation;
    return sectionRequest({
      key,
      command: onCreateGroup({ key, incarnation, shardCount, grantsFromMs, wasThere }),
      respond: async (result, state) => {
        acceptedOrThrow(key, result);
        if (state.metadata?.provisioning !== 'COMPLETE') {
          throw new ApiError(
            'REDIS_STREAM_PROVISIONING_FAILED',
            'not every stream exists yet; repeat the request',
          );
        }
        // A deletion that ended at the same time may have taken the registration away.
        await this.registration.register(key, shardCount);
        return viewOf(state.metadata);
      },
    });
  }

  /** Deletes, then purges if asked to, then deregisters: what was cut short is finished by the same request. */
  async delete(
    key: GroupKey,
    body: DeleteGroupDto,
    viewOf: (metadata: GroupMetadata) => GroupView | CreatedStream,
  ): Promise<SectionRequest<AdminResult<DeletedGroup>>> {
    this.refuseWhenTerminating();
    const purges = body.purgeStreams === true;
    if (purges) await this.refuseSharedStreams(key);
    const options = { force: body.force === true, expectedVersion: body.expectedMetadataVersion ?? null };
    return sectionRequest({
      key,
      command: onDeleteGroup(options),
      respond: async (result) => {
        if (!result.ok && result.refusal.code === 'GROUP_NOT_FOUND') await this.finishDeletion(key, purges);
        const { metadata, leasesEndMs } = acceptedOrThrow(key, result);
        if (purges) await this.provisioner.purge(key.streamPrefix, metadata.shards.length);
        await this.registration.deregister(key, leasesEndMs);
        return viewOf(metadata);
      },
    });
  }

  /** The group is gone, but still registered: an earlier deletion did not come to its end. */
  private async finishDeletion(key: GroupKey, purges: boolean): Promise<void> {
    const record = await this.registration.isRegistered(key);
    if (record === null) return;
    if (purges) await this.provisioner.purge(key.streamPrefix, record.shardCount);
    await this.registration.deregister(key, null);
  }

  private async refuseSharedStreams(key: GroupKey): Promise<void> {
    const others = await this.registration.otherGroups(key);
    if (others.length === 0) return;
    throw new ApiError(
      'STATE_CONFLICT',
      `stream ${key.streamPrefix} is read by ${others.join(', ')} as well`,
      {
        retryable: false,
        details: [{ field: 'purgeStreams', rule: 'must not be true while another group reads the streams' }],
      },
    );
  }

  /** Before anything is written outside of a section. */
  private refuseWhenTerminating(): void {
    if (this.gate.isClosed) throw new CoordinatorTerminatingError();
  }
}
