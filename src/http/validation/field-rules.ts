import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { type DtoClass, rememberField } from './field-registry';

/**
 * The rules of a DTO's fields, one decorator per field: what class-validator checks, what the OpenAPI document says, and
 * what is told to a client whose value breaks it. The compiled schema of the hot route is translated from the
 * class-validator metadata that these leave behind (json-schema.ts), so that a rule is written once.
 */
export interface FieldDescription {
  readonly description: string;
  readonly example?: unknown;
  /** May be absent or null. */
  readonly optional?: boolean;
}

/** An integer that JSON, JavaScript and Lua all hold exactly, from `min` (0) to `max` (2^53-1). */
export function Integer(field: FieldDescription & { min?: number; max?: number }): PropertyDecorator {
  const min = field.min ?? 0;
  const max = field.max ?? Number.MAX_SAFE_INTEGER;
  return fieldOf(
    field,
    `must be an integer from ${min} to ${max}`,
    { type: 'integer', minimum: min, maximum: max },
    [IsInt(), Min(min), Max(max)],
  );
}

/** The same for a query parameter, which arrives as text: decimal digits, nothing else. */
export function QueryInteger(field: FieldDescription & { min?: number; max?: number }): PropertyDecorator {
  return applyDecorators(Integer(field), rememberField({ readsText: true }));
}

/** Text of `min` (1) to `max` characters (code points). */
export function Text(field: FieldDescription & { min?: number; max: number }): PropertyDecorator {
  const min = field.min ?? 1;
  const pattern = new RegExp(`^[\\s\\S]{${min},${field.max}}$`, 'u');
  return fieldOf(
    field,
    `must be text of ${min} to ${field.max} characters`,
    { type: 'string', minLength: min, maxLength: field.max },
    [IsString(), Matches(pattern)],
  );
}

/** A name by one of the patterns of domain/ids. */
export function Name(field: FieldDescription & { pattern: RegExp }): PropertyDecorator {
  return fieldOf(
    field,
    `must be a name that matches ${field.pattern.source}`,
    { type: 'string', pattern: field.pattern.source },
    [IsString(), Matches(field.pattern)],
  );
}

export function OneOf(field: FieldDescription & { values: readonly string[] }): PropertyDecorator {
  return fieldOf(
    field,
    `must be one of ${field.values.join(', ')}`,
    { type: 'string', enum: [...field.values] },
    [IsIn([...field.values])],
  );
}

export function Flag(field: FieldDescription): PropertyDecorator {
  return fieldOf(field, 'must be true or false', { type: 'boolean' }, [IsBoolean()]);
}

const INSTANT_TEXT = /^[\s\S]{1,64}$/u;

/** A time for display only: milliseconds since 1970, or text (ISO 8601) of at most 64 characters. */
export function Instant(field: FieldDescription): PropertyDecorator {
  return fieldOf(
    field,
    'must be milliseconds since 1970 or text of 1 to 64 characters',
    {
      oneOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', maxLength: 64 },
      ],
    },
    [IsInstant()],
  );
}

/** The name and the bounds of the one rule that class-validator does not have; json-schema.ts knows both. */
export const INSTANT_RULE = {
  name: 'isInstant',
  pattern: INSTANT_TEXT,
  max: Number.MAX_SAFE_INTEGER,
} as const;

function IsInstant(): PropertyDecorator {
  const isInstant = (value: unknown): boolean =>
    typeof value === 'string'
      ? INSTANT_RULE.pattern.test(value)
      : Number.isInteger(value) && (value as number) >= 0 && (value as number) <= INSTANT_RULE.max;
  return ValidateBy({ name: INSTANT_RULE.name, validator: { validate: isInstant } });
}

/** An object whose fields are checked by whoever takes it. */
export function AnyObject(field: FieldDescription): PropertyDecorator {
  return fieldOf(field, 'must be an object', { type: 'object', additionalProperties: true }, [IsObject()]);
}

export function NestedObject(field: FieldDescription & { of: () => DtoClass }): PropertyDecorator {
  return applyDecorators(
    fieldOf(field, 'must be an object', { type: field.of }, [IsObject(), ValidateNested()]),
    rememberField({ nested: { of: field.of, isList: false } }),
  );
}

export function NestedList(
  field: FieldDescription & { of: () => DtoClass; maxItems: number },
): PropertyDecorator {
  return applyDecorators(
    fieldOf(
      field,
      `must be a list of at most ${field.maxItems} objects`,
      { type: field.of, isArray: true, maxItems: field.maxItems },
      [IsArray(), ArrayMaxSize(field.maxItems), ValidateNested()],
    ),
    rememberField({ nested: { of: field.of, isList: true } }),
  );
}

function fieldOf(
  field: FieldDescription,
  rule: string,
  schema: Record<string, unknown>,
  decorators: readonly PropertyDecorator[],
): PropertyDecorator {
  const isOptional = field.optional === true;
  const documented = {
    ...schema,
    description: field.description,
    required: !isOptional,
    ...(isOptional ? { nullable: true } : {}),
    ...(field.example === undefined ? {} : { example: field.example }),
  } as ApiPropertyOptions;
  return applyDecorators(
    ...decorators,
    ...(isOptional ? [IsOptional()] : []),
    rememberField({ rule }),
    ApiProperty(documented),
  );
}
