import { type ValidationError, validateSync } from 'class-validator';
import type { ErrorDetail } from '../../protocol';
import { distinctDetails, fieldPath } from './error-details';
import { type DtoClass, fieldsOf } from './field-registry';

/** An accepted value as an instance of its DTO, or what is wrong with it. */
export type ClassCheckOutcome = { readonly accepted: object } | { readonly details: readonly ErrorDetail[] };

/** Checks a plain value by the class-validator rules of `dto`. Unknown fields are left out, not refused. */
export function checkByClass(dto: DtoClass, plain: unknown): ClassCheckOutcome {
  if (!isPlainObject(plain)) return { details: [{ field: 'body', rule: 'must be a JSON object' }] };
  const instance = instantiate(dto, plain);
  const errors = validateSync(instance, { forbidUnknownValues: true });
  if (errors.length === 0) return { accepted: instance };
  return { details: distinctDetails(errors.flatMap((error) => detailsOf(dto, error, []))) };
}

/**
 * Copies the known fields into an instance, nested ones too. Written here because class-transformer calls what it finds
 * under `constructor` in a client's object. What should be an object and is none becomes a value that ValidateNested
 * refuses, so that it is never looked into.
 */
function instantiate(dto: DtoClass, plain: Readonly<Record<string, unknown>>): object {
  const instance: Record<string, unknown> = Object.create(dto.prototype as object) as Record<string, unknown>;
  for (const field of fieldsOf(dto).values()) {
    if (!Object.hasOwn(plain, field.name)) continue;
    const value = plain[field.name];
    if (field.nested !== null) {
      const { of, isList } = field.nested;
      instance[field.name] = isList ? instantiateList(of(), value) : instantiateOne(of(), value);
    } else {
      instance[field.name] = field.readsText ? numberFromDigits(value) : value;
    }
  }
  return instance;
}

function instantiateOne(dto: DtoClass, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  return isPlainObject(value) ? instantiate(dto, value) : false;
}

function instantiateList(dto: DtoClass, value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown) => (isPlainObject(item) ? instantiate(dto, item) : null));
  return isPlainObject(value) ? false : value;
}

const DIGITS = /^(0|[1-9][0-9]{0,15})$/;

/** `7` -> 7; anything else stays text, which no number rule accepts. */
function numberFromDigits(value: unknown): unknown {
  return typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
}

function detailsOf(dto: DtoClass, error: ValidationError, above: readonly string[]): ErrorDetail[] {
  const path = [...above, error.property];
  const field = fieldsOf(dto).get(error.property);
  const rule = field?.rule ?? 'is not valid';
  if (error.constraints !== undefined) return [{ field: fieldPath(path), rule }];
  const children = error.children ?? [];
  const nested = field?.nested;
  if (nested === undefined || nested === null) return [{ field: fieldPath(path), rule }];
  if (!nested.isList) return children.flatMap((child) => detailsOf(nested.of(), child, path));
  return children.flatMap((item) => {
    const itemPath = [...path, item.property];
    if (item.constraints !== undefined) return [{ field: fieldPath(itemPath), rule }];
    return (item.children ?? []).flatMap((child) => detailsOf(nested.of(), child, itemPath));
  });
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
