import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { FaultLog } from '../../../src/http/fault-log';
import { requestIdOf } from '../../../src/http/request-id';
import { StructuredLogger } from '../../../src/http/structured-logger';

function linesOf(use: (logger: StructuredLogger) => void, logLevel: 'info' | 'debug' = 'info') {
  const lines: Record<string, unknown>[] = [];
  const sink = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  use(new StructuredLogger({ logLevel, coordinatorId: 'c1' }, sink));
  return lines;
}

describe('the structured logger', () => {
  it('writes a line of JSON with level, time, coordinator, context and the fields of an object', () => {
    const [line] = linesOf((logger) => logger.warn({ message: 'slow', ms: 5 }, 'Context'));
    expect(line).toMatchObject({
      level: 'warn',
      coordinatorId: 'c1',
      context: 'Context',
      message: 'slow',
      ms: 5,
    });
    expect(Date.parse(String(line?.['time']))).not.toBeNaN();
  });

  it('keeps the stack that Nest hands over', () => {
    const [line] = linesOf((logger) => logger.error('broken', 'at somewhere', 'Context'));
    expect(line).toMatchObject({
      level: 'error',
      message: 'broken',
      stack: 'at somewhere',
      context: 'Context',
    });
  });

  it('tells of the wiring of modules only at debug', () => {
    const wiring = (logger: StructuredLogger) =>
      logger.log('AppModule dependencies initialized', 'InstanceLoader');
    expect(linesOf(wiring)).toEqual([]);
    expect(linesOf(wiring, 'debug')).toHaveLength(1);
  });
});

describe('the fault log', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('writes one line per kind in ten seconds, with the number of those left out', () => {
    let nowMs = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const log = new FaultLog();
    for (let i = 0; i < 5; i += 1) log.report('A', 'warn', {});
    log.report('B', 'warn', {});
    nowMs = 10_999;
    log.report('A', 'warn', {});
    expect(warn).toHaveBeenCalledTimes(2);
    nowMs = 11_000;
    log.report('A', 'warn', {});
    expect(warn).toHaveBeenLastCalledWith(expect.objectContaining({ kind: 'A', leftOut: 5 }));
  });
});

describe('a request id', () => {
  const idOf = (value: string | string[]) => requestIdOf({ headers: { 'x-request-id': value } });

  it('is taken if it can stand in a header and a log line, and made otherwise', () => {
    expect(idOf('abc-1')).toBe('abc-1');
    for (const text of ['a\nb', 'ä', '', 'x'.repeat(201)]) expect(idOf(text)).toMatch(/^[0-9a-f-]{36}$/);
    expect(idOf(['a', 'b'])).toMatch(/^[0-9a-f-]{36}$/);
  });
});
