import { ERROR_CODES } from '../../src/protocol';
import type { ErrorCode, HeartbeatAnswer, HeartbeatBody, ShardId } from '../../src/protocol';
import type { CoordinatorCallOptions, CoordinatorPort } from '../../src/client/consumer/coordinator-port';
import type { Judge } from './judge';
import type { SimulatedProcess } from './scheduler';
import type { SimulatedCoordinator } from './simulated-coordinator';
import type { RedisWorld } from './simulated-redis';
import { REQUEST_TIMEOUT_MS } from './timing';

const WAY_MS = { low: 0.5, high: 8 } as const;
const DELAY_MS = { low: 50, high: 4_000 } as const;
const DUPLICATE_DELAY_MS = { low: 1, high: 6_000 } as const;
const BEHIND_A_MOVE_MS = 400;
/** Coordinators that one request is offered to, as the SDK's HTTP client does. */
const MAX_ATTEMPTS = 2;

/** An answer that is not 200, or none at all, with the fields by which the SDK tells them apart. */
class RequestFailure extends Error {
  constructor(
    readonly httpStatus: number | null,
    readonly errorCode: string | null,
    message: string,
  ) {
    super(message);
  }
}

interface Call {
  readonly body: HeartbeatBody;
  readonly sentOrder: number;
  attempts: number;
  isSettled: boolean;
  /** Made only when a coordinator asks for it: few requests are held. */
  hangUp: AbortController | null;
  settle(answer: HeartbeatAnswer | RequestFailure): void;
}

/** The reason of an abort; a fresh error each time would cost more than the request. */
const GIVEN_UP = new Error('the client has given up');

function signalOf(call: Call): AbortSignal {
  call.hangUp ??= new AbortController();
  return call.hangUp.signal;
}

/** Between clients and coordinators. Loses, delays, doubles and reorders requests and answers alike. */
export class SimulatedNetwork {
  /** By address; null: nothing listens there. */
  readonly coordinators: (SimulatedCoordinator | null)[] = [];
  private orders = 0;
  private readonly lastArrived = new Map<string, number>();

  constructor(
    private readonly world: RedisWorld,
    private readonly judge: Judge,
  ) {}

  /** What one client process has of the network. */
  portOf(client: SimulatedProcess): CoordinatorPort {
    let address = this.world.random.below(Math.max(1, this.coordinators.length));
    return {
      heartbeat: (_prefix, _group, _member, body, options = {}) =>
        new Promise((resolve, reject) => {
          const call = this.open(client, body, options, (answer) => {
            if (answer instanceof RequestFailure) reject(answer);
            else resolve(answer);
          });
          const attempt = (): void => {
            call.attempts += 1;
            this.send(client, call, address, (failure) => {
              address = (address + 1) % this.coordinators.length;
              const isWorthTrying = failure.httpStatus === null || failure.httpStatus === 503;
              if (isWorthTrying && call.attempts < MAX_ATTEMPTS) attempt();
              else call.settle(failure);
            });
          };
          attempt();
        }),
      producerRouting: () => Promise.reject(new Error('not simulated')),
    };
  }

  private open(
    client: SimulatedProcess,
    body: HeartbeatBody,
    { signal, timeoutMs = REQUEST_TIMEOUT_MS }: CoordinatorCallOptions,
    done: (answer: HeartbeatAnswer | RequestFailure) => void,
  ): Call {
    const { scheduler, trace } = this.world;
    this.orders += 1;
    const call: Call = {
      ...{ body, sentOrder: this.orders, attempts: 0, isSettled: false, hangUp: null },
      settle: (answer) => {
        if (call.isSettled) return;
        call.isSettled = true;
        cancelTimeout();
        signal?.removeEventListener('abort', onAbort);
        if (trace.isOn) trace.add(client.name, `<- ${describeAnswer(body, answer)}`);
        done(answer);
      },
    };
    const give = (message: string): void => {
      if (call.isSettled) return;
      call.settle(new RequestFailure(null, null, message));
      scheduler.after(this.wayMs(), null, () => call.hangUp?.abort(GIVEN_UP));
    };
    const onAbort = (): void => give('given up');
    const cancelTimeout = scheduler.after(timeoutMs, client, () => give('no answer in time'));
    signal?.addEventListener('abort', onAbort);
    if (trace.isOn) trace.add(client.name, `-> ${describeRequest(body)}`);
    return call;
  }

  private send(
    client: SimulatedProcess,
    call: Call,
    address: number,
    onFailure: (failure: RequestFailure) => void,
  ): void {
    const { random, plan } = this.world;
    if (!plan.strikes('REQUEST_LOST')) {
      this.arriveLater(client, call, address, this.wayMs('REQUEST_DELAYED'), onFailure);
    }
    // Late copies of a report that a shard was let go are the dangerous ones: they get more chances.
    const chances = call.body.revokingShards?.some(({ state }) => state === 'REVOKED') === true ? 4 : 1;
    for (let i = 0; i < chances; i += 1) {
      if (!plan.strikes('REQUEST_DUPLICATED')) continue;
      const copyTo = random.below(this.coordinators.length);
      const arrive = (delayMs: number): void =>
        this.arriveLater(client, call, copyTo, delayMs, () => undefined);
      if (random.chance(0.5)) arrive(random.between(DUPLICATE_DELAY_MS.low, DUPLICATE_DELAY_MS.high));
      else this.keepCopy(1 + random.below(4), arrive);
    }
  }

  /** A copy that was kept somewhere on the way, until the group has moved a few times: its sender has gone on by then. */
  private keepCopy(moves: number, arrive: (delayMs: number) => void): void {
    this.judge.onceMoved(() => {
      if (moves > 1) this.keepCopy(moves - 1, arrive);
      else arrive(this.world.random.between(0, BEHIND_A_MOVE_MS));
    });
  }

  private arriveLater(
    client: SimulatedProcess,
    call: Call,
    address: number,
    delayMs: number,
    onFailure: (failure: RequestFailure) => void,
  ): void {
    const { scheduler } = this.world;
    const failLater = (failure: RequestFailure): void => {
      scheduler.after(this.wayMs(), client, () => {
        if (!call.isSettled) onFailure(failure);
      });
    };
    scheduler.after(delayMs, null, () => {
      const coordinator = this.coordinators[address] ?? null;
      if (coordinator?.isListening !== true || !coordinator.process.isAlive) {
        failLater(new RequestFailure(null, null, 'connection refused'));
        return;
      }
      // In the coordinator's own time: a paused one takes it up when it goes on.
      scheduler.after(0, coordinator.process, () => this.serve(client, call, coordinator, failLater));
      const onCrash = (): void => failLater(new RequestFailure(null, null, 'connection reset'));
      coordinator.process.onCrash(onCrash);
    });
  }

  private serve(
    client: SimulatedProcess,
    call: Call,
    coordinator: SimulatedCoordinator,
    failLater: (failure: RequestFailure) => void,
  ): void {
    const { scheduler, plan } = this.world;
    this.noteArrival(call);
    coordinator
      .heartbeat(call.body, () => signalOf(call))
      .then(
        (answer) => {
          this.judge.coverage.count(`answer ${answer.status}`);
          if (plan.strikes('ANSWER_LOST')) return;
          scheduler.after(this.wayMs('ANSWER_DELAYED'), client, () => {
            if (call.isSettled) plan.count('ANSWER_DUPLICATED');
            call.settle(answer);
          });
        },
        (error: unknown) => {
          if (plan.strikes('ANSWER_LOST')) return;
          failLater(this.failureOf(error));
        },
      );
  }

  private failureOf(error: unknown): RequestFailure {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const known = code in ERROR_CODES ? ERROR_CODES[code as ErrorCode] : null;
    if (known === null || code === 'INTERNAL_ERROR' || code === 'INVALID_REQUEST') {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.judge.violated('NO_DEFECT', `a heartbeat was answered with ${message}`);
    }
    this.judge.coverage.count(`answer ${code}`);
    return new RequestFailure(known?.httpStatus ?? 500, code, code);
  }

  private noteArrival({ body, sentOrder }: Call): void {
    const last = this.lastArrived.get(body.memberId) ?? 0;
    if (sentOrder < last) this.world.plan.count('REQUEST_REORDERED');
    this.lastArrived.set(body.memberId, Math.max(last, sentOrder));
  }

  private wayMs(delay?: 'REQUEST_DELAYED' | 'ANSWER_DELAYED'): number {
    const { random, plan } = this.world;
    const wayMs = random.between(WAY_MS.low, WAY_MS.high);
    if (delay === undefined || !plan.strikes(delay)) return wayMs;
    return wayMs + random.between(DELAY_MS.low, DELAY_MS.high);
  }
}

function describeRequest(body: HeartbeatBody): string {
  const owned = body.ownedShards?.map(({ shardIndex }) => shardIndex).join(',') ?? 'null';
  const revoking =
    body.revokingShards?.map(({ shard, state, inFlight }) => `${shard.shardIndex}:${state}/${inFlight}`) ??
    'null';
  const more = [
    body.previousEpoch ? `previous=${body.previousEpoch % 10_000_000}` : '',
    body.waitMs ? `wait=${body.waitMs}` : '',
    body.instanceId ? `instance=${body.instanceId}` : '',
  ];
  const numbers = `epoch=${body.memberEpoch % 10_000_000} v${body.metadataVersion % 10_000_000}`;
  return `${body.requestId} ${numbers} owned=[${owned}] revoking=[${String(revoking)}] ${more.join(' ')}`;
}

function describeAnswer({ requestId }: HeartbeatBody, answer: HeartbeatAnswer | RequestFailure): string {
  if (answer instanceof RequestFailure) return `${requestId} FAILED ${answer.message}`;
  const { assignment, status, memberEpoch, metadataVersion } = answer;
  const assigned = listOf(assignment.assignedShards);
  const pending = listOf(assignment.pendingShards);
  const revoking = listOf(assignment.revokingShards ?? []);
  const numbers = `epoch=${memberEpoch % 10_000_000} v${metadataVersion % 10_000_000}`;
  return `${requestId} ${status} ${numbers} assigned=[${assigned}] pending=[${pending}] revoking=[${revoking}]`;
}

function listOf(shards: readonly ShardId[]): string {
  return shards.map(({ shardIndex }) => shardIndex).join(',');
}
