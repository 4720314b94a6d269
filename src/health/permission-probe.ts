import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { CommandProbe } from '../redis/command-probe';

/** An ACL rarely changes; the probe sends a command of each kind. */
const PROBE_INTERVAL_MS = 10_000;

/** Remembers which Redis commands the ACL does not permit, and asks again every ten seconds at most. */
@Injectable()
export class PermissionProbe implements OnApplicationBootstrap {
  private readonly logger = new Logger('Permissions');
  private missing: readonly string[] = [];
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private running: Promise<readonly string[]> | null = null;

  constructor(private readonly commands: CommandProbe) {}

  /** Said once at start: whoever wrote the ACL reads the log. */
  async onApplicationBootstrap(): Promise<void> {
    const missing = await this.missingCommands();
    if (missing.length === 0) return;
    this.logger.error({
      message: 'the ACL of Redis does not permit commands that the coordinator needs',
      missing,
    });
  }

  /** As last answered; Redis that cannot be asked says nothing new. */
  missingCommands(): Promise<readonly string[]> {
    if (performance.now() - this.askedAtMs < PROBE_INTERVAL_MS) return Promise.resolve(this.missing);
    this.running ??= this.ask().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private async ask(): Promise<readonly string[]> {
    try {
      this.missing = await this.commands.missingCommands();
      this.askedAtMs = performance.now();
    } catch {
      // Said by the readiness probe and by the log of Redis faults already.
    }
    return this.missing;
  }
}
