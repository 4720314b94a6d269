import type { ProducerRouting } from '../../src/protocol';
import type { Judge } from './judge';
import { SimulatedProcess } from './scheduler';
import type { SimulatedNetwork } from './simulated-network';
import type { RedisWorld } from './simulated-redis';
import { TIMING } from './timing';

const WAY_MS = { low: 0.5, high: 8 } as const;

/**
 * Publishers only refresh their routing, but the versions that they show are evidence of lost writes too. Takes an answer as
 * docs/protocol.md says: a higher version, or a lower one that says `regressed`.
 */
export class SimulatedPublisher {
  readonly process = new SimulatedProcess('pub');
  private version = 0;
  private maxObservedVersion = 0;

  constructor(
    private readonly world: RedisWorld,
    private readonly network: SimulatedNetwork,
    private readonly judge: Judge,
  ) {
    this.refreshLater();
  }

  private refreshLater(): void {
    const { scheduler, random } = this.world;
    const waitMs = random.between(TIMING.routingRefreshMs / 2, TIMING.routingRefreshMs * 1.5);
    scheduler.after(waitMs, this.process, () => {
      this.refresh();
      this.refreshLater();
    });
  }

  private refresh(): void {
    const { scheduler, random } = this.world;
    const coordinator = random.pick(this.network.coordinators);
    if (coordinator?.isListening !== true) return;
    const wayMs = (): number => random.between(WAY_MS.low, WAY_MS.high);
    const seen = { metadataVersion: this.version, maxObservedVersion: this.maxObservedVersion };
    scheduler.after(wayMs(), coordinator.process, () => {
      coordinator.routing(seen).then(
        (answer) => {
          scheduler.after(wayMs(), this.process, () => this.apply(seen.maxObservedVersion, answer));
        },
        (error: unknown) => {
          const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
          this.judge.coverage.count(`routing refused: ${code}`);
        },
      );
    });
  }

  private apply(shown: number, { metadataVersion, regressed }: ProducerRouting): void {
    this.judge.checks += 1;
    if (metadataVersion < shown !== regressed) {
      this.judge.violated(
        'REGRESSION_TOLD',
        `after ${shown} routing said ${metadataVersion}, regressed ${regressed}`,
      );
    }
    if (metadataVersion > this.version || regressed) this.version = metadataVersion;
    this.maxObservedVersion = Math.max(this.maxObservedVersion, metadataVersion);
  }
}
