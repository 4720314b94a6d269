import { Injectable } from '@nestjs/common';
import { CriticalSection } from './critical-section';
import { EffectRunner } from './effects';
import { StateConflictError } from './section-errors';
import type { SectionRequest } from './section-request';

/** Takes a request through the critical section: runs its command, carries out the effects, and lets it answer after that. */
@Injectable()
export class SectionDoor {
  constructor(
    private readonly section: CriticalSection,
    private readonly effects: EffectRunner,
  ) {}

  /** @throws what the section, an effect or the request's own `respond` throws. */
  async answer<Reply>(request: SectionRequest<Reply>): Promise<unknown> {
    try {
      const result = await this.section.run(request.key, request.command, request.options);
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
