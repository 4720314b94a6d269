import { Module } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { AdminController } from './admin.controller';
import { GroupAdministration } from './group-administration';
import { StreamRegistration } from './stream-registration';

@Module({
  controllers: [AdminController],
  providers: [GroupAdministration, StreamRegistration, GroupReader],
})
export class AdminModule {}
