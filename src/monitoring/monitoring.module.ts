import { Module } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { CompatibilityController } from './compatibility.controller';
import { CoordinatorGauges } from './coordinator-gauges';
import { ExplainController } from './explain.controller';
import { ExplainService } from './explain.service';
import { GroupListService } from './group-list.service';
import { GroupsController } from './groups.controller';
import { StreamFlows } from './stream-flows';

@Module({
  controllers: [CompatibilityController, GroupsController, ExplainController],
  providers: [GroupListService, GroupReader, ExplainService, StreamFlows, CoordinatorGauges],
})
export class MonitoringModule {}
