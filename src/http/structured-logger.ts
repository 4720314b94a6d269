import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Level, type Logger as PinoLogger, pino } from 'pino';
import type { CoordinatorOptions } from '../config/coordinator-options';

/** What Nest tells of each module and route at start: nothing that an operator reads. */
const FRAMEWORK_CONTEXTS: ReadonlySet<string> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/**
 * Nest's logger as JSON lines. A message may be an object: its fields become fields of the line, `message` its text.
 * Nobody hands it a payload or a secret; there is nothing to redact.
 */
export class StructuredLogger implements LoggerService {
  private readonly pino: PinoLogger;

  constructor(
    options: Pick<CoordinatorOptions, 'logLevel' | 'coordinatorId'>,
    destination?: DestinationStream,
  ) {
    const settings = {
      level: options.logLevel,
      base: { coordinatorId: options.coordinatorId, pid: process.pid },
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    };
    this.pino = destination === undefined ? pino(settings) : pino(settings, destination);
  }

  log(message: unknown, ...context: unknown[]): void {
    const isWiring = FRAMEWORK_CONTEXTS.has(String(context.at(-1)));
    this.write(isWiring ? 'debug' : 'info', message, context);
  }

  error(message: unknown, ...context: unknown[]): void {
    this.write('error', message, context);
  }

  warn(message: unknown, ...context: unknown[]): void {
    this.write('warn', message, context);
  }

  debug(message: unknown, ...context: unknown[]): void {
    this.write('debug', message, context);
  }

  verbose(message: unknown, ...context: unknown[]): void {
    this.write('trace', message, context);
  }

  fatal(message: unknown, ...context: unknown[]): void {
    this.write('fatal', message, context);
  }

  /** Nest calls `logger.log(message, context)` and `logger.error(message, stack, context)`. */
  private write(level: Level, message: unknown, parameters: readonly unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const texts = parameters.filter((parameter) => typeof parameter === 'string');
    const context = texts.at(-1);
    const stack = texts.length > 1 ? texts[0] : undefined;
    const fields = {
      ...(context === undefined ? {} : { context }),
      ...(stack === undefined ? {} : { stack }),
    };
    if (message instanceof Error) {
      this.pino[level]({ ...fields, stack: message.stack }, message.message);
    } else if (typeof message === 'object' && message !== null) {
      this.pino[level]({ ...fields, ...message });
    } else {
      this.pino[level](fields, String(message));
    }
  }
}
