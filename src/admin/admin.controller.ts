import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CriticalSectionInterceptor } from '../critical-section/critical-section.interceptor';
import { type SectionRequest, sectionRequest } from '../critical-section/section-request';
import { type AdminResult, type DeletedGroup, onFenceMember } from '../domain/coordinator/on-admin';
import type { GroupMetadata } from '../domain/group/group-metadata';
import { parseConsumerGroup } from '../domain/ids';
import { invalidRequest } from '../http/api-error';
import { ApiMutationErrors, ApiReadErrors } from '../http/api-errors';
import { GroupViewDto, groupViewOf } from '../http/group.view';
import { GroupPathDto, groupKeyOf, MemberPathDto, StreamPathDto } from '../http/path.dto';
import type { CreatedStream, GroupView } from '../protocol';
import {
  CreateGroupDto,
  CreateStreamDto,
  CreatedStreamDto,
  DeleteGroupDto,
  FenceMemberDto,
} from './admin.dto';
import { AdminLog, type Identified } from './admin-log';
import { acceptedOrThrow } from './admin-refusals';
import { GroupAdministration } from './group-administration';

@ApiTags('administration')
@UseInterceptors(CriticalSectionInterceptor)
@Controller('coord/v1/streams/:streamPrefix')
export class AdminController {
  constructor(
    private readonly administration: GroupAdministration,
    private readonly log: AdminLog,
  ) {}

  @Post()
  @HttpCode(201)
  @ApiOperation({ summary: 'Create a sharded stream with its first consumer group' })
  @ApiCreatedResponse({ type: CreatedStreamDto })
  @ApiMutationErrors('GROUP_ALREADY_EXISTS', 'REDIS_STREAM_PROVISIONING_FAILED')
  createStream(
    @Param() path: StreamPathDto,
    @Body() body: CreateStreamDto,
    @Req() request: Identified,
  ): Promise<SectionRequest<AdminResult<GroupMetadata>>> {
    const consumerGroup = parseConsumerGroup(body.consumerGroup ?? `${path.streamPrefix}-consumer`);
    if (consumerGroup === null) {
      const rule = 'must be given: <streamPrefix>-consumer would not be a valid name';
      throw invalidRequest([{ field: 'consumerGroup', rule }]);
    }
    const key = { streamPrefix: path.streamPrefix, consumerGroup };
    this.log.asked('create-stream', key, body, request);
    return this.administration.create(key, body.initialShardCount ?? null, createdStreamOf);
  }

  @Post('groups/:consumerGroup')
  @HttpCode(201)
  @ApiOperation({
    summary: 'Create a consumer group',
    description: 'Answered when every stream and Redis group exists.',
  })
  @ApiCreatedResponse({ type: GroupViewDto })
  @ApiMutationErrors('GROUP_ALREADY_EXISTS', 'REDIS_STREAM_PROVISIONING_FAILED')
  createGroup(
    @Param() path: GroupPathDto,
    @Body() body: CreateGroupDto,
    @Req() request: Identified,
  ): Promise<SectionRequest<AdminResult<GroupMetadata>>> {
    const key = groupKeyOf(path);
    this.log.asked('create-group', key, body, request);
    return this.administration.create(key, body.initialShardCount ?? null, groupViewOf);
  }

  @Get('groups/:consumerGroup')
  @ApiOperation({ summary: 'One group' })
  @ApiOkResponse({ type: GroupViewDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  async group(@Param() path: GroupPathDto): Promise<GroupView> {
    return groupViewOf(await this.administration.existing(groupKeyOf(path)));
  }

  @Delete('groups/:consumerGroup')
  @ApiOperation({
    summary: 'Delete a group',
    description:
      'Streams and Redis groups stay unless purgeStreams is true. Answers with the group as it was.',
  })
  @ApiOkResponse({ type: GroupViewDto })
  @ApiMutationErrors(
    'GROUP_NOT_FOUND',
    'STATE_CONFLICT',
    'LIVE_MEMBERS_PRESENT',
    'REDIS_STREAM_PROVISIONING_FAILED',
  )
  deleteGroup(
    @Param() path: GroupPathDto,
    @Body() body: DeleteGroupDto,
    @Req() request: Identified,
  ): Promise<SectionRequest<AdminResult<DeletedGroup>>> {
    const key = groupKeyOf(path);
    this.log.asked('delete-group', key, body, request);
    return this.administration.delete(key, body, groupViewOf);
  }

  @Delete('groups/:consumerGroup/members/:memberId')
  @ApiOperation({
    summary: 'Fence a member',
    description: 'Its shards move once its recorded lease has ended.',
  })
  @ApiOkResponse({ type: GroupViewDto })
  @ApiMutationErrors('GROUP_NOT_FOUND', 'MEMBER_NOT_FOUND', 'STATE_CONFLICT')
  fenceMember(
    @Param() path: MemberPathDto,
    @Body() body: FenceMemberDto,
    @Req() request: Identified,
  ): SectionRequest<AdminResult<GroupMetadata>> {
    const key = groupKeyOf(path);
    this.log.asked('fence-member', key, body, request, path.memberId);
    const options = { memberId: path.memberId, expectedVersion: body.expectedMetadataVersion ?? null };
    return sectionRequest({
      key,
      command: onFenceMember(options),
      respond: (result) => groupViewOf(acceptedOrThrow(key, result)),
    });
  }
}

function createdStreamOf(metadata: GroupMetadata): CreatedStream {
  const { streamPrefix, consumerGroup, shardCount, metadataVersion } = metadata;
  return { streamPrefix, consumerGroup, shardCount, metadataVersion };
}
