import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { AppModule } from './app.module';
import type { CoordinatorOptions } from './config/coordinator-options';
import { readOptionsFromEnvironment } from './config/environment';
import { createApplication } from './http/create-application';
import { StructuredLogger } from './http/structured-logger';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** What a shell reports of a process that SIGTERM ended; Nest ends itself so. */
const EXIT_CODE_OF_SIGTERM = 143;

async function start(options: CoordinatorOptions, warnings: readonly string[]): Promise<void> {
  const structured = new StructuredLogger(options);
  const app = await createApplication(AppModule.with(options), options, structured);
  const logger = new Logger('Main');
  for (const warning of warnings) logger.warn(warning);
  app.enableShutdownHooks([...STOP_SIGNALS]);
  boundShutdown(options.shutdownGraceMs, logger);
  await app.listen({ host: options.host, port: options.port });
  const { coordinatorId, authentication } = options;
  logger.log({ message: 'listening', url: await app.getUrl(), coordinatorId, authentication });
}

/** Nest waits for what is under way; this ends the process in any case, even while Redis is frozen. */
function boundShutdown(graceMs: number, logger: Logger): void {
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => {
      logger.log({ message: 'stopping', signal, graceMs });
      const timer = setTimeout(() => {
        logger.warn({ message: 'the grace period is over, what is still under way is cut off', graceMs });
        process.exit(EXIT_CODE_OF_SIGTERM);
      }, graceMs);
      timer.unref();
    });
  }
}

/** On stderr, for a person: there is no logger without options. */
function refuseToStart(faults: readonly string[]): void {
  const lines = faults.map((fault) => `  - ${fault}\n`);
  process.stderr.write(
    `The coordinator does not start, ${faults.length} fault(s) in its options:\n${lines.join('')}`,
  );
  process.exitCode = 1;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const because = cause instanceof Error ? `\nbecause: ${cause.message}` : '';
  return `${error.stack ?? error.message}${because}`;
}

const outcome = readOptionsFromEnvironment();
if (outcome.ok) {
  start(outcome.value.options, outcome.value.warnings).catch((error: unknown) => {
    process.stderr.write(`The coordinator does not start: ${reasonOf(error)}\n`);
    process.exit(1);
  });
} else {
  refuseToStart(outcome.refusal);
}
