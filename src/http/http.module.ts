import { Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { AccessLog } from './access-log';
import { ErrorFilter } from './error-filter';
import { FaultLog } from './fault-log';
import { DtoPipe } from './validation/dto-pipe';

/** What holds for every route: its input is checked, its errors have one shape, it is logged and counted. */
@Global()
@Module({
  providers: [
    FaultLog,
    AccessLog,
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
  exports: [FaultLog],
})
export class HttpModule {}
