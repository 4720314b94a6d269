import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { mergeMap, type Observable } from 'rxjs';
import { SectionDoor } from './section-door';
import { isSectionRequest } from './section-request';

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A route that may change something answered without the critical section: a defect of that route. */
export class OutsideCriticalSectionError extends Error {
  readonly retryable = false;
  constructor(route: string) {
    super(
      `${route} returned no SectionRequest: every route that may change a group passes the critical section`,
    );
    this.name = 'OutsideCriticalSectionError';
  }
}

/**
 * The way of a controller's requests into the critical section: a handler validates and returns a `SectionRequest`, this
 * takes it through the door. A reading route may return one too; a mutating route must. The heartbeat alone goes to the door
 * itself (docs/adr/0008): test/e2e/surface.spec.ts shows that every mutating route gets there.
 */
@Injectable()
export class CriticalSectionInterceptor implements NestInterceptor {
  constructor(private readonly door: SectionDoor) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method } = context.switchToHttp().getRequest<{ readonly method: string }>();
    return next.handle().pipe(
      mergeMap(async (returned: unknown) => {
        if (isSectionRequest(returned)) return this.door.answer(returned);
        if (READING_METHODS.has(method)) return returned;
        throw new OutsideCriticalSectionError(`${context.getClass().name}.${context.getHandler().name}`);
      }),
    );
  }
}
