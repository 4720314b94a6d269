import { Module } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { AdminController } from './admin.controller';
import { AdminLog } from './admin-log';
import { GroupAdministration } from './group-administration';
import { IndexController } from './index.controller';
import { MetadataController } from './metadata.controller';
import { MetadataRescue } from './metadata-rescue';
import { StreamRegistration } from './stream-registration';

@Module({
  controllers: [AdminController, IndexController, MetadataController],
  providers: [AdminLog, GroupAdministration, MetadataRescue, StreamRegistration, GroupReader],
})
export class AdminModule {}
