import { Module } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { CompatibilityController } from './compatibility.controller';
import { GroupListService } from './group-list.service';
import { GroupsController } from './groups.controller';

@Module({
  controllers: [CompatibilityController, GroupsController],
  providers: [GroupListService, GroupReader],
})
export class MonitoringModule {}
