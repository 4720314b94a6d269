import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { GroupReader, type ReadGroup } from '../critical-section/group-reader';
import { ApiReadErrors } from '../http/api-errors';
import { groupNotFound } from '../http/group-not-found';
import { GroupViewDto, groupViewOf } from '../http/group.view';
import { GroupPathDto, groupKeyOf } from '../http/path.dto';
import type { AssignmentsView, GroupsPage, GroupView, MembersView } from '../protocol';
import type { MetadataStore } from '../store/metadata-store';
import { METADATA_STORE } from '../store/store.tokens';
import { GroupListService } from './group-list.service';
import { assignmentsViewOf, memberViewsOf } from './group-views';
import { AssignmentsDto, MembersDto } from './members.dto';
import { GroupsPageDto, GroupsQueryDto } from './monitoring.dto';

/** Groups, their members and who reads what. Reads only, without lock. */
@ApiTags('monitoring')
@Controller('coord/v1/monitoring')
export class GroupsController {
  constructor(
    private readonly list: GroupListService,
    private readonly reader: GroupReader,
    @Inject(METADATA_STORE) private readonly store: MetadataStore,
  ) {}

  @Get('groups')
  @ApiOperation({ summary: 'All groups, a page at a time' })
  @ApiOkResponse({ type: GroupsPageDto })
  @ApiReadErrors()
  groups(@Query() query: GroupsQueryDto): Promise<GroupsPage> {
    return this.list.page(query);
  }

  @Get('streams/:streamPrefix/groups/:consumerGroup')
  @ApiOperation({ summary: 'One group' })
  @ApiOkResponse({ type: GroupViewDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  async monitoredGroup(@Param() path: GroupPathDto): Promise<GroupView> {
    return groupViewOf((await this.read(path)).metadata);
  }

  @Get('streams/:streamPrefix/groups/:consumerGroup/members')
  @ApiOperation({ summary: 'Members with their leases, shards and last reports' })
  @ApiOkResponse({ type: MembersDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  async members(@Param() path: GroupPathDto): Promise<MembersView> {
    const [group, reports] = await Promise.all([this.read(path), this.store.loadReports(groupKeyOf(path))]);
    return { members: memberViewsOf(group, reports) };
  }

  @Get('streams/:streamPrefix/groups/:consumerGroup/assignments')
  @ApiOperation({ summary: 'Who should read what, who does, and what is being given up' })
  @ApiOkResponse({ type: AssignmentsDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  async assignments(@Param() path: GroupPathDto): Promise<AssignmentsView> {
    return assignmentsViewOf(await this.read(path));
  }

  private async read(path: GroupPathDto): Promise<ReadGroup> {
    const key = groupKeyOf(path);
    const group = await this.reader.read(key);
    if (group.metadata === null) throw groupNotFound(key);
    return group;
  }
}
