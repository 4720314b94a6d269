/**
 * The highest metadataVersion of one group that this process ever saw, over tenures and members. It only grows: a coordinator
 * that is shown a version which its history never had knows that Redis lost writes.
 * Source: docs/protocol.md, Metadata correction.
 */
export class HighestVersion {
  private highest = 0;

  constructor(private readonly onGrowth: () => void = () => undefined) {}

  /** 0: none was seen. */
  get value(): number {
    return this.highest;
  }

  observe(metadataVersion: number): void {
    if (metadataVersion <= this.highest) return;
    this.highest = metadataVersion;
    this.onGrowth();
  }
}
