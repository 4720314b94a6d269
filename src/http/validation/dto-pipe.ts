import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { InvariantViolationError } from '../../domain/assert';
import { invalidRequest } from '../api-error';
import { MAX_BODY_DEPTH, nestsDeeperThan } from './body-depth';
import { checkByClass } from './class-check';
import { compileCheck, type DtoCheck } from './compiled-validator';
import { reportedDetails } from './error-details';
import { type DtoClass, fieldsOf } from './field-registry';

const compiledChecks = new WeakMap<DtoClass, DtoCheck>();

/** Marks a DTO of a hot route: it is checked by a schema compiled once from its class-validator rules. */
export function CompiledRules(): ClassDecorator {
  return (target) => {
    const dto = target as unknown as DtoClass;
    compiledChecks.set(dto, compileCheck(dto));
  };
}

/** Checks every body, query and set of path parameters of every route against its DTO. */
@Injectable()
export class DtoPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type === 'custom') return value;
    const dto = dtoOf(type, metatype);
    if (type === 'body' && nestsDeeperThan(value, MAX_BODY_DEPTH)) {
      throw invalidRequest([{ field: 'body', rule: `must not nest deeper than ${MAX_BODY_DEPTH} levels` }]);
    }
    const compiled = compiledChecks.get(dto);
    if (compiled !== undefined) {
      const details = compiled(value);
      if (details.length > 0) throw invalidRequest(reportedDetails(details));
      return value;
    }
    const outcome = checkByClass(dto, value);
    if ('details' in outcome) throw invalidRequest(reportedDetails(outcome.details));
    return outcome.accepted;
  }
}

/** A DTO imported by `import type` arrives as Object: nothing would be checked, so nothing is let through. */
function dtoOf(type: string, metatype: unknown): DtoClass {
  if (typeof metatype === 'function' && fieldsOf(metatype as DtoClass).size > 0) return metatype as DtoClass;
  const name = typeof metatype === 'function' ? metatype.name : String(metatype);
  throw new InvariantViolationError(
    `a ${type} of type ${name} has no rules: a DTO must be imported as a value`,
  );
}
