import { Module } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { ProducerRoutingService } from './producer-routing.service';
import { RoutingController } from './routing.controller';

@Module({ controllers: [RoutingController], providers: [ProducerRoutingService, GroupReader] })
export class RoutingModule {}
