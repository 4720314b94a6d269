import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CURRENT_PROTOCOL_VERSION, MAX_PROTOCOL_VERSION, MIN_PROTOCOL_VERSION } from '../protocol';
import type { CompatibilityView } from '../protocol';
import { CompatibilityDto } from './monitoring.dto';

@ApiTags('monitoring')
@Controller('coord/v1/monitoring')
export class CompatibilityController {
  @Get('compatibility')
  @ApiOperation({ summary: 'Versions of the coordination protocol that this coordinator speaks' })
  @ApiOkResponse({ type: CompatibilityDto })
  compatibility(): CompatibilityView {
    const count = MAX_PROTOCOL_VERSION - MIN_PROTOCOL_VERSION + 1;
    return {
      currentCoordinationVersion: CURRENT_PROTOCOL_VERSION,
      supportedCoordinationVersions: { min: MIN_PROTOCOL_VERSION, max: MAX_PROTOCOL_VERSION },
      coordinationVersions: Array.from({ length: count }, (_, offset) => MIN_PROTOCOL_VERSION + offset),
    };
  }
}
