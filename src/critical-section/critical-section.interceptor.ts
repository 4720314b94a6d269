import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { mergeMap, type Observable } from 'rxjs';
import { CriticalSection } from './critical-section';
import { EffectRunner } from './effects';
import { StateConflictError } from './section-errors';
import { isSectionRequest, type SectionRequest } from './section-request';

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
 * The way of every request into the critical section: a handler validates and returns a `SectionRequest`; this runs its
 * command, carries out the effects, and lets it answer once the section is left. A reading route may return one too; a
 * mutating route must.
 */
@Injectable()
export class CriticalSectionInterceptor implements NestInterceptor {
  constructor(
    private readonly section: CriticalSection,
    private readonly effects: EffectRunner,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method } = context.switchToHttp().getRequest<{ readonly method: string }>();
    return next.handle().pipe(
      mergeMap(async (returned: unknown) => {
        if (isSectionRequest(returned)) return this.run(returned);
        if (READING_METHODS.has(method)) return returned;
        throw new OutsideCriticalSectionError(`${context.getClass().name}.${context.getHandler().name}`);
      }),
    );
  }

  private async run(request: SectionRequest<unknown>): Promise<unknown> {
    try {
      const result = await this.section.run(request.key, request.command);
      const state =
        result.effects.length === 0 ? result.state : await this.effects.carryOut(request.key, result);
      return await request.respond(result.reply, state);
    } catch (error) {
      if (error instanceof StateConflictError && request.respondToConflict !== undefined) {
        return request.respondToConflict(error);
      }
      throw error;
    }
  }
}
