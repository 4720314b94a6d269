import { faultOf, messageOf, type RedisFault } from './redis-fault';
import type { FaultLogger } from './redis-options';

const LINE_INTERVAL_MS = 10_000;

/**
 * Says what is wrong with Redis without flooding: of each kind of fault at most one line per 10 s, with the number of those
 * that were left out since the last one. `nowMs` is any monotonic clock.
 */
export class FaultLog {
  private readonly kinds = new Map<RedisFault, { lastLineMs: number; leftOut: number }>();

  constructor(
    private readonly logger: FaultLogger,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  report(operation: string, error: unknown): void {
    const { fault } = faultOf(error);
    this.logger.faultSeen?.(fault);
    const nowMs = this.nowMs();
    const last = this.kinds.get(fault);
    if (last !== undefined && nowMs - last.lastLineMs < LINE_INTERVAL_MS) {
      last.leftOut += 1;
      return;
    }
    this.kinds.set(fault, { lastLineMs: nowMs, leftOut: 0 });
    const reason = reasonOf(error);
    this.logger.warn({ fault, operation, reason, leftOut: last?.leftOut ?? 0 }, 'Redis fault');
  }
}

const REASON_LENGTH = 300;

/** The innermost message: the one of Redis or of the socket. Never a command with its arguments. */
function reasonOf(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause !== undefined; depth += 1) {
    innermost = innermost.cause;
  }
  return messageOf(innermost).slice(0, REASON_LENGTH);
}
