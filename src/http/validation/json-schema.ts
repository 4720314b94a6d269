import { getMetadataStorage } from 'class-validator';
import { InvariantViolationError } from '../../domain/assert';
import { type DtoClass, type DtoField, fieldsOf } from './field-registry';
import { INSTANT_RULE } from './field-rules';

export type JsonSchema = Readonly<Record<string, unknown>>;
type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

/**
 * Translates the class-validator metadata of a DTO into a JSON schema that accepts and refuses the same values. It knows
 * exactly the decorators that field-rules.ts uses, and refuses to translate any other: a rule must not get lost.
 */
export function schemaOf(dto: DtoClass): JsonSchema {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  const fields = [...fieldsOf(dto).values()];
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const field of fields) {
    const ofField = rules.filter((rule) => rule.propertyName === field.name);
    const isOptional = ofField.some((rule) => rule.name === 'isOptional');
    if (!isOptional) required.push(field.name);
    properties[field.name] = fieldSchema(dto, field, ofField, isOptional);
  }
  return { type: 'object', properties, required };
}

function fieldSchema(
  dto: DtoClass,
  field: DtoField,
  rules: readonly Rule[],
  isOptional: boolean,
): JsonSchema {
  const merged: Record<string, unknown> = {};
  for (const rule of rules) Object.assign(merged, keywordsOf(dto, field, rule));
  const nullable = isOptional ? orNull(merged) : merged;
  return { ...nullable, description: field.rule };
}

function keywordsOf(dto: DtoClass, field: DtoField, rule: Rule): Record<string, unknown> {
  const [first] = (rule.constraints as readonly unknown[] | undefined) ?? [];
  if (rule.type === 'nestedValidation') return nestedKeywords(dto, field);
  switch (rule.name) {
    case 'isOptional':
      return {};
    case 'isInt':
      return { type: 'integer' };
    case 'min':
      return { minimum: first };
    case 'max':
      return { maximum: first };
    case 'isString':
      return { type: 'string' };
    case 'matches':
      return { pattern: (first as RegExp).source };
    case 'isIn':
      return { enum: first };
    case 'isBoolean':
      return { type: 'boolean' };
    case 'isObject':
      return { type: 'object' };
    case 'isArray':
      return { type: 'array' };
    case 'arrayMaxSize':
      return { maxItems: first };
    case INSTANT_RULE.name:
      return { anyOf: instantSchemas(field.rule) };
    default:
      throw new InvariantViolationError(
        `${dto.name}.${field.name}: no JSON schema is known for the rule ${rule.name}`,
      );
  }
}

function nestedKeywords(dto: DtoClass, field: DtoField): Record<string, unknown> {
  if (field.nested === null) {
    throw new InvariantViolationError(
      `${dto.name}.${field.name} is nested, but not by NestedObject or NestedList`,
    );
  }
  const schema = schemaOf(field.nested.of());
  return field.nested.isList ? { items: { ...schema, description: field.rule } } : { ...schema };
}

function instantSchemas(description: string): JsonSchema[] {
  return [
    { type: 'integer', minimum: 0, maximum: INSTANT_RULE.max, description },
    { type: 'string', pattern: INSTANT_RULE.pattern.source, description },
  ];
}

/** Absent is the business of `required`; null must be allowed by each keyword that would refuse it. */
function orNull(schema: Record<string, unknown>): Record<string, unknown> {
  const allowed: Record<string, unknown> = { ...schema };
  if ('type' in schema) allowed['type'] = [schema['type'], 'null'];
  if ('enum' in schema) allowed['enum'] = [...(schema['enum'] as unknown[]), null];
  if ('anyOf' in schema) allowed['anyOf'] = [...(schema['anyOf'] as unknown[]), { type: 'null' }];
  return allowed;
}
