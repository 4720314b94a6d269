/** Reading of stored JSON, field by field: whatever is not exactly as it was written is refused, with the place and the rule. */
export class UnreadableValueError extends Error {
  constructor(path: string, rule: string) {
    super(`${path} ${rule}`);
    this.name = 'UnreadableValueError';
  }
}

// Read once: an aggregate has some ten thousand fields.
const { hasOwn, keys: keysOf } = Object;
const { isSafeInteger } = Number;
const { isArray } = Array;

export type StoredObject = Readonly<Record<string, unknown>>;

/** An object with exactly `required` fields, and at most `optional` ones besides. */
export function readObject(
  value: unknown,
  path: string,
  required: readonly string[],
  optional: readonly string[] = [],
): StoredObject {
  if (typeof value !== 'object' || value === null || isArray(value)) {
    throw new UnreadableValueError(path, 'is not an object');
  }
  let expected = 0;
  for (const name of required) {
    if (!hasOwn(value, name)) throw new UnreadableValueError(path, `has no ${name}`);
    expected += 1;
  }
  for (const name of optional) if (hasOwn(value, name)) expected += 1;
  if (keysOf(value).length !== expected) {
    throw new UnreadableValueError(path, 'has fields that this version does not know');
  }
  return value as StoredObject;
}

export function readList(value: unknown, path: string): readonly unknown[] {
  if (!isArray(value)) throw new UnreadableValueError(path, 'is not a list');
  return value;
}

/** An integer from 0 up to 2^53 - 1. */
export function readCount(value: unknown, path: string): number {
  if (typeof value !== 'number' || !isSafeInteger(value) || value < 0) {
    throw new UnreadableValueError(path, 'is not an integer from 0 to 2^53-1');
  }
  return value;
}

const DIGITS = /^[0-9]{1,16}$/;

/** An integer from 0 up to 2^53 - 1 as decimal text; null when it is none. */
export function readInteger(text: string): number | null {
  const value = Number(text);
  return DIGITS.test(text) && isSafeInteger(value) ? value : null;
}

export function readText(value: unknown, path: string, maxLength: number): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > maxLength) {
    throw new UnreadableValueError(path, `is not a text of 1 to ${maxLength} characters`);
  }
  return value;
}

export function readOneOf<Value extends string>(
  value: unknown,
  path: string,
  values: readonly Value[],
): Value {
  const found = values.find((candidate) => candidate === value);
  if (found === undefined) throw new UnreadableValueError(path, `is none of ${values.join(', ')}`);
  return found;
}

export function nullOr<Value>(value: unknown, read: (value: unknown) => Value): Value | null {
  return value === null ? null : read(value);
}
