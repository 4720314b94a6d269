import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import { CommandProbe } from '../redis/command-probe';

/** The probe sends a command of each kind; readiness must turn within 2 s of a change of the ACL. */
const PROBE_INTERVAL_MS = 500;

/** Without these a coordinator does its work all the same: notices are hints, scanning is for repair, the rest for `explain`. */
const DISPENSABLE: ReadonlySet<string> = new Set(['PUBLISH', 'SCAN', 'XINFO', 'XRANGE']);

/** Remembers which Redis commands the ACL does not permit, and asks again when somebody wants to know, twice a second at most. */
@Injectable()
export class PermissionProbe implements OnApplicationBootstrap {
  private readonly logger = new Logger('Permissions');
  private missing: readonly string[] = [];
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private running: Promise<void> | null = null;

  constructor(
    private readonly commands: CommandProbe,
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly metrics: CoordinatorMetrics,
  ) {}

  /** Said once at start: whoever wrote the ACL reads the log. */
  async onApplicationBootstrap(): Promise<void> {
    const missing = await this.missingCommands();
    if (missing.length === 0) return;
    this.logger.error({
      message: 'the ACL of Redis does not permit commands that the coordinator needs',
      missing,
    });
  }

  /** As last answered; Redis that cannot be asked, or not within the deadline of a probe, says nothing new. */
  async missingCommands(): Promise<readonly string[]> {
    if (performance.now() - this.askedAtMs < PROBE_INTERVAL_MS) return this.missing;
    this.running ??= this.ask().finally(() => {
      this.running = null;
    });
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.options.limits.readinessProbeTimeoutMs);
    });
    await Promise.race([this.running, deadline]);
    clearTimeout(timer);
    return this.missing;
  }

  /** Those of the missing ones without which no group can be changed. */
  async missingForWork(): Promise<readonly string[]> {
    return (await this.missingCommands()).filter((command) => !DISPENSABLE.has(command));
  }

  private async ask(): Promise<void> {
    try {
      this.missing = await this.commands.missingCommands();
      this.askedAtMs = performance.now();
      this.metrics.missingCommands(this.missing.length);
    } catch {
      // Said by the readiness probe and by the log of Redis faults already.
    }
  }
}
