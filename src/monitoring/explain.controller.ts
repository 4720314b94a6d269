import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiReadErrors } from '../http/api-errors';
import { GroupPathDto, groupKeyOf } from '../http/path.dto';
import type { ExplainView } from '../protocol';
import { ExplainDto } from './explain.dto';
import { ExplainService } from './explain.service';

@ApiTags('monitoring')
@Controller('coord/v1/monitoring/streams/:streamPrefix/groups/:consumerGroup')
export class ExplainController {
  constructor(private readonly explanations: ExplainService) {}

  @Get('explain')
  @ApiOperation({
    summary: 'Why each shard is where it is',
    description:
      'Who holds it, who waits, since when, until which deadline, and why. Reads the group and its streams once; changes nothing.',
  })
  @ApiOkResponse({ type: ExplainDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  explain(@Param() path: GroupPathDto): Promise<ExplainView> {
    return this.explanations.explain(groupKeyOf(path));
  }
}
