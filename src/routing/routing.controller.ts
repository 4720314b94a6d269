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
    description: 'A lower version than one already seen is answered 503 METADATA_REGRESSION.',
  })
  @ApiOkResponse({ type: ProducerRoutingDto })
  @ApiReadErrors('GROUP_NOT_FOUND', 'METADATA_REGRESSION')
  producerRouting(
    @Param() path: GroupPathDto,
    @Query() query: RoutingQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProducerRouting> {
    return this.service.routing(groupKeyOf(path), query, () => clientGoneSignal(reply));
  }
}
