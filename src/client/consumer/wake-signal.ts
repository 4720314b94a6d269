/**
 * Wakes one loop. A notice that comes while nobody waits is kept, so that the next wait returns at once: none is lost between
 * looking for work and waiting for it.
 */
export class WakeSignal {
  private isSet = false;
  private resolve: (() => void) | null = null;

  notify(): void {
    const { resolve } = this;
    if (resolve === null) {
      this.isSet = true;
      return;
    }
    this.resolve = null;
    resolve();
  }

  async wait(): Promise<void> {
    if (this.isSet) {
      this.isSet = false;
      return;
    }
    await new Promise<void>((resolve) => (this.resolve = resolve));
  }
}
