import { Module } from '@nestjs/common';
import { HeartbeatAnswers } from './heartbeat-answers';
import { HeartbeatController } from './heartbeat.controller';

@Module({ controllers: [HeartbeatController], providers: [HeartbeatAnswers] })
export class MembershipModule {}
