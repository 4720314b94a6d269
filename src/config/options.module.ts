import { type DynamicModule, Global, Module } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from './coordinator-options';

/** Makes the options, read once in main.ts, injectable everywhere as COORDINATOR_OPTIONS. */
@Global()
@Module({})
export class OptionsModule {
  static with(options: CoordinatorOptions): DynamicModule {
    return {
      module: OptionsModule,
      providers: [{ provide: COORDINATOR_OPTIONS, useValue: options }],
      exports: [COORDINATOR_OPTIONS],
    };
  }
}
