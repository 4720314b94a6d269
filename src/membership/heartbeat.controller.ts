import { Body, Controller, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { SectionDoor } from '../critical-section/section-door';
import { onHeartbeat } from '../domain/coordinator/on-heartbeat';
import { invalidRequest } from '../http/api-error';
import { ApiMutationErrors } from '../http/api-errors';
import { clientGoneSignal } from '../http/client-gone';
import { groupKeyOf, MemberPathDto } from '../http/path.dto';
import { reportedDetails } from '../http/validation/error-details';
import { MAX_PROTOCOL_VERSION, MIN_PROTOCOL_VERSION } from '../protocol';
import { HeartbeatAnswerDto } from './heartbeat-answer.dto';
import { HeartbeatAnswers } from './heartbeat-answers';
import { heartbeatConflicts } from './heartbeat-conflicts';
import { heartbeatRequestOf } from './heartbeat-request';
import { HeartbeatDto } from './heartbeat.dto';

const PROTOCOL_RANGE = { min: MIN_PROTOCOL_VERSION, max: MAX_PROTOCOL_VERSION };

@ApiTags('membership')
@Controller('coord/v1/streams/:streamPrefix/groups/:consumerGroup/members/:memberId')
export class HeartbeatController {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly answers: HeartbeatAnswers,
    private readonly door: SectionDoor,
  ) {}

  @Post('heartbeat')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Join, stay, leave',
    description:
      'A repeatable view of what is recorded. `memberEpoch` 0 joins, -1 leaves. With `waitMs` the answer is held until it changes.',
  })
  @ApiOkResponse({ type: HeartbeatAnswerDto })
  @ApiMutationErrors('GROUP_NOT_FOUND', 'TOO_MANY_REQUESTS')
  heartbeat(
    @Param() path: MemberPathDto,
    @Body() body: HeartbeatDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const conflicts = heartbeatConflicts(body, path.memberId, this.options.maxShardCount);
    if (conflicts.length > 0) throw invalidRequest(reportedDetails(conflicts));
    const key = groupKeyOf(path);
    const request = heartbeatRequestOf(body, path.memberId);
    const longPoll = { waitMs: body.waitMs ?? 0, signal: () => clientGoneSignal(reply) };
    // Not by the interceptor: Nest's machinery around one costs more than all the rest of this route (docs/adr/0008).
    return this.door.answer({
      key,
      command: onHeartbeat(request, PROTOCOL_RANGE),
      respond: (decided) => this.answers.answer(key, request, decided, longPoll),
      respondToConflict: () => this.answers.retry(request),
    });
  }
}
