import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiMutationErrors } from '../http/api-errors';
import type { RepairedIndex } from '../protocol';
import { RepairedIndexDto, RepairIndexDto } from './admin.dto';
import { AdminLog, type Identified } from './admin-log';
import { MetadataRescue } from './metadata-rescue';

/** The index of groups belongs to no group, so no section guards it: entries are only added, each by one command. */
@ApiTags('administration')
@Controller('coord/v1/index')
export class IndexController {
  constructor(
    private readonly rescue: MetadataRescue,
    private readonly log: AdminLog,
  ) {}

  @Post('repair')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Repair the index of groups',
    description: 'Adds every group whose metadata exists. Scans all keys of Redis: not for every day.',
  })
  @ApiOkResponse({ type: RepairedIndexDto })
  @ApiMutationErrors()
  repairIndex(@Body() body: RepairIndexDto, @Req() request: Identified): Promise<RepairedIndex> {
    this.log.asked('repair-index', null, body, request);
    return this.rescue.repairIndex();
  }
}
