import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ApiReadErrors } from '../http/api-errors';
import { clientGoneSignal } from '../http/client-gone';
import { GroupPathDto, groupKeyOf } from '../http/path.dto';
import type { ProducerRouting } from '../protocol';
import { ProducerRoutingService } from './producer-routing.service';
import { ProducerRoutingDto, RoutingQueryDto } from './routing.dto';

@ApiTags('routing')
@Controller('coord/v1/streams/:streamPrefix/groups/:consumerGroup')
export class RoutingController {
  constructor(private readonly service: ProducerRoutingService) {}

  @Get('producer-routing')
  @ApiOperation({
    summary: 'Where to publish',
    description:
      'Send the versions that you have seen: an answer that is below them says `regressed: true`, Redis lost writes then.',
  })
  @ApiOkResponse({ type: ProducerRoutingDto })
  @ApiReadErrors('GROUP_NOT_FOUND')
  producerRouting(
    @Param() path: GroupPathDto,
    @Query() query: RoutingQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProducerRouting> {
    return this.service.routing(groupKeyOf(path), query, () => clientGoneSignal(reply));
  }
}
