import { describe, expect, it } from '@jest/globals';
import { IsEmail } from 'class-validator';
import { InvariantViolationError } from '../../../src/domain/assert';
import { MAX_BODY_DEPTH, nestsDeeperThan } from '../../../src/http/validation/body-depth';
import { checkByClass } from '../../../src/http/validation/class-check';
import { DtoPipe } from '../../../src/http/validation/dto-pipe';
import { distinctDetails, fieldPath, reportedDetails } from '../../../src/http/validation/error-details';
import { Integer, QueryInteger, Text } from '../../../src/http/validation/field-rules';
import { schemaOf } from '../../../src/http/validation/json-schema';

class PageDto {
  @QueryInteger({ description: 'n', min: 1, max: 9, optional: true })
  readonly limit?: number | null;
}

class NoteDto {
  @Text({ description: 't', max: 3 })
  readonly text!: string;

  @Integer({ description: 'n' })
  readonly count!: number;
}

describe('the validation pipe', () => {
  const pipe = new DtoPipe();
  const check = (value: unknown, metatype: unknown) => () =>
    pipe.transform(value, { type: 'body', metatype: metatype as typeof NoteDto });

  it('keeps known fields, leaves unknown ones out, and answers with an instance', () => {
    const note = check({ text: 'abc', count: 0, more: 1 }, NoteDto)();
    expect(note).toBeInstanceOf(NoteDto);
    expect({ ...(note as object) }).toEqual({ text: 'abc', count: 0 });
  });

  it.each([Object, undefined, Array, String])(
    'lets nothing through when the DTO was erased to %p',
    (metatype) => {
      expect(check({ text: 'abc', count: 0 }, metatype)).toThrow(InvariantViolationError);
    },
  );

  it('counts characters, not UTF-16 units', () => {
    expect(check({ text: '\u{1F600}\u{1F600}\u{1F600}', count: 0 }, NoteDto)).not.toThrow();
    expect(check({ text: '\u{1F600}\u{1F600}\u{1F600}\u{1F600}', count: 0 }, NoteDto)).toThrow(
      'text must be text',
    );
  });

  it('reads digits of a query as a number, and only digits', () => {
    expect(checkByClass(PageDto, { limit: '9' })).toEqual({ accepted: { limit: 9 } });
    for (const text of ['10', '0', '1e0', '0x1', ' 1', '1.0', '-1', '']) {
      expect(checkByClass(PageDto, { limit: text })).toEqual({
        details: [expect.objectContaining({ field: 'limit' })],
      });
    }
  });

  it('never calls what a client put under `constructor` or `then`', () => {
    const called = JSON.parse('{"text":{"constructor":1},"count":{"then":1},"constructor":"x"}') as unknown;
    expect(check(called, NoteDto)).toThrow('must be text');
  });

  it('names at most twenty fields', () => {
    const details = Array.from({ length: 50 }, (_, i) => ({ field: `f[${i}]`, rule: 'r' }));
    expect(distinctDetails(details)).toHaveLength(50);
    expect(reportedDetails(details)).toHaveLength(20);
  });
});

describe('the translation to a JSON schema', () => {
  it('refuses a rule that it does not know, instead of losing it', () => {
    class MailDto {
      @Text({ description: 'm', max: 50 })
      @IsEmail()
      readonly mail!: string;
    }
    expect(() => schemaOf(MailDto)).toThrow('no JSON schema is known for the rule isEmail');
  });
});

describe('what names a field', () => {
  it('writes positions in brackets', () => {
    expect(fieldPath(['a', '3', 'b'])).toBe('a[3].b');
  });

  it('drops what lies below a field that is itself wrong, and keeps a neighbour of the same beginning', () => {
    const details = ['a', 'a.b', 'a[0].c', 'ab.c', 'a'].map((field) => ({ field, rule: 'r' }));
    expect(distinctDetails(details).map(({ field }) => field)).toEqual(['a', 'ab.c']);
  });
});

describe('the depth of a body', () => {
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

  it('is refused one level beyond the bound', () => {
    expect(nestsDeeperThan(nested(MAX_BODY_DEPTH), MAX_BODY_DEPTH)).toBe(false);
    expect(nestsDeeperThan(nested(MAX_BODY_DEPTH + 1), MAX_BODY_DEPTH)).toBe(true);
    expect(nestsDeeperThan(nested(100_000), MAX_BODY_DEPTH)).toBe(true);
  });
});
