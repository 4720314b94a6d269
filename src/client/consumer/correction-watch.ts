import type { ConsumerMetrics } from './consumer-metrics';

/**
 * Makes one correction round of a consumer out of those of its members: it starts with the first member that is told of it, and
 * has ended when none is in it any more.
 */
export class CorrectionWatch {
  private readonly correcting = new Set<string>();
  private lastVersion = 0;

  constructor(
    private readonly metrics: Pick<ConsumerMetrics, 'correctionStarted'>,
    private readonly onChange: (state: 'STARTED' | 'ENDED', metadataVersion: number) => void,
  ) {}

  get memberCount(): number {
    return this.correcting.size;
  }

  started(memberId: string, metadataVersion: number): void {
    this.lastVersion = metadataVersion;
    this.correcting.add(memberId);
    if (this.correcting.size > 1) return;
    this.metrics.correctionStarted();
    this.onChange('STARTED', metadataVersion);
  }

  /** Of a member that stops in a round nothing more is heard: `metadataVersion` is null. */
  ended(memberId: string, metadataVersion: number | null): void {
    if (!this.correcting.delete(memberId) || this.correcting.size > 0) return;
    this.onChange('ENDED', metadataVersion ?? this.lastVersion);
  }
}
