import { Body, Controller, Get, HttpCode, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CriticalSectionInterceptor } from '../critical-section/critical-section.interceptor';
import { type SectionRequest } from '../critical-section/section-request';
import type { AdminResult } from '../domain/coordinator/on-admin';
import type { GroupMetadata } from '../domain/group/group-metadata';
import { ApiMutationErrors, ApiReadErrors } from '../http/api-errors';
import { GroupViewDto } from '../http/group.view';
import { GroupPathDto, groupKeyOf } from '../http/path.dto';
import type { GroupDocument } from '../store/group-document';
import { GroupDocumentDto, RestoreGroupDto } from './admin.dto';
import { AdminLog, type Identified } from './admin-log';
import { MetadataRescue } from './metadata-rescue';

/** For an operator whose Redis lost metadata, or holds some that cannot be read (docs/operations.md). */
@ApiTags('administration')
@UseInterceptors(CriticalSectionInterceptor)
@Controller('coord/v1/streams/:streamPrefix/groups/:consumerGroup/metadata')
export class MetadataController {
  constructor(
    private readonly rescue: MetadataRescue,
    private readonly log: AdminLog,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'Export a group',
    description: 'All that is recorded of it, to be kept and restored from.',
  })
  @ApiOkResponse({ type: GroupDocumentDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  exportGroup(@Param() path: GroupPathDto): Promise<GroupDocument> {
    return this.rescue.exportGroup(groupKeyOf(path));
  }

  @Post('restore')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Restore an exported group',
    description:
      'In the place of one that is missing, cannot be read, or is older. Begins a correction round: members that are known go on, nothing is granted for one member lease.',
  })
  @ApiOkResponse({ type: GroupViewDto })
  @ApiMutationErrors('STATE_CONFLICT', 'REDIS_STREAM_PROVISIONING_FAILED')
  restoreGroup(
    @Param() path: GroupPathDto,
    @Body() body: RestoreGroupDto,
    @Req() request: Identified,
  ): Promise<SectionRequest<AdminResult<GroupMetadata>>> {
    const key = groupKeyOf(path);
    this.log.asked('restore-group', key, body, request);
    return this.rescue.restore(key, body.document);
  }
}
