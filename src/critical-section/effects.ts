import { assertNever } from '../domain/assert';
import type { Effect, GroupCommand, GroupState } from '../domain/coordinator/decision';
import { onCompleteProvisioning } from '../domain/coordinator/on-admin';
import { unchanged } from '../domain/coordinator/transition';
import type { GroupKey, Incarnation } from '../domain/ids';
import { groupKeyText } from '../domain/ids';
import { ProvisioningError } from '../store/stream-provisioner';
import type { StreamProvisioner } from '../store/stream-provisioner';
import type { CriticalSection } from './critical-section';
import type { FaultReporter, SectionMetrics } from './section-metrics';
import type { SectionResult } from './section-request';

export interface EffectParts {
  readonly section: Pick<CriticalSection, 'run'>;
  readonly provisioner: StreamProvisioner;
  readonly faults: FaultReporter;
  readonly metrics: Pick<
    SectionMetrics,
    'alerted' | 'correctionStarted' | 'correctionEnded' | 'provisioningFailed'
  >;
}

/** Carries out what was decided beyond the group itself, after its commit. Each effect can be repeated. */
export class EffectRunner {
  constructor(private readonly parts: EffectParts) {}

  /**
   * @returns the group as last recorded, effects included.
   * @throws ProvisioningError, and what a section throws. What is left undone is derived again by the event loop.
   */
  async carryOut(
    key: GroupKey,
    { effects, state }: Pick<SectionResult<unknown>, 'effects' | 'state'>,
  ): Promise<GroupState> {
    let recorded = state;
    for (const effect of effects) recorded = await this.carryOutOne(key, effect, recorded);
    return recorded;
  }

  private async carryOutOne(key: GroupKey, effect: Effect, state: GroupState): Promise<GroupState> {
    switch (effect.kind) {
      case 'PROVISION':
        return this.provision(key, state);
      case 'ALERT':
        this.parts.metrics.alerted(effect.alert);
        this.parts.faults.report(`ALERT:${effect.alert}`, 'error', {
          group: groupKeyText(key),
          alert: effect.alert,
          detail: effect.detail,
        });
        return state;
      case 'CORRECTION':
        this.noteCorrection(key, effect);
        return state;
      default:
        return assertNever(effect);
    }
  }

  private noteCorrection(key: GroupKey, effect: Extract<Effect, { readonly kind: 'CORRECTION' }>): void {
    const { metrics, faults } = this.parts;
    const { event, cause, ageMs, detail } = effect;
    if (event === 'STARTED') metrics.correctionStarted(cause);
    else metrics.correctionEnded(cause, ageMs);
    const fields = { group: groupKeyText(key), cause, ageMs, detail };
    faults.report(`CORRECTION:${event}`, event === 'STARTED' ? 'error' : 'warn', fields);
  }

  private async provision(key: GroupKey, state: GroupState): Promise<GroupState> {
    const { metadata } = state;
    if (metadata === null) return state;
    const { provisioner, section, metrics } = this.parts;
    try {
      await provisioner.provision(key.streamPrefix, metadata.shards.length, key.consumerGroup);
    } catch (error) {
      if (error instanceof ProvisioningError) metrics.provisioningFailed();
      throw error;
    }
    return (await section.run(key, completeProvisioningOf(metadata.incarnation))).state;
  }
}

/** Only of the life of the group whose streams were made: another one may have more shards. */
function completeProvisioningOf(incarnation: Incarnation): GroupCommand<unknown> {
  const complete = onCompleteProvisioning();
  return {
    name: complete.name,
    decide: (state, context) =>
      state.metadata?.incarnation === incarnation
        ? complete.decide(state, context)
        : unchanged(state, () => null),
  };
}
