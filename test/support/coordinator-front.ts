import { HttpStub, type StubAnswer, type StubRequest } from './http-stub';

/** What a client is answered instead of what the coordinator says. */
export type FrontFault = 'NOT_FOUND' | 'SERVER_ERROR' | 'GARBAGE' | 'WRONG_SHAPE' | 'HANG' | 'REFUSE';

/** A request that was answered by the coordinator behind, or by the fault that was on. */
export interface FrontExchange {
  readonly path: string;
  /** Wall clock, milliseconds: when it came in. */
  readonly cameMs: number;
  readonly answeredBy: 'COORDINATOR' | FrontFault;
  readonly status: number;
}

const FAULT_ANSWERS: Readonly<Record<FrontFault, StubAnswer | 'hang' | 'cut'>> = {
  NOT_FOUND: {
    status: 404,
    body: { status: 'NOT_FOUND', errorCode: 'GROUP_NOT_FOUND', message: 'no such group', retryable: false },
  },
  SERVER_ERROR: { status: 500, body: 'Internal Server Error' },
  GARBAGE: { status: 200, body: '<html>hotel wifi' },
  WRONG_SHAPE: { status: 200, body: { status: 'OK', assignment: 'everything' } },
  HANG: 'hang',
  REFUSE: 'cut',
};

/** What stands between clients and a coordinator: passes everything on, unless a fault is on. */
export class CoordinatorFront {
  readonly exchanges: FrontExchange[] = [];
  private fault: FrontFault | null = null;
  private stub: HttpStub | null = null;

  private constructor(private target: string) {}

  static async start(target: string): Promise<CoordinatorFront> {
    const front = new CoordinatorFront(target);
    front.stub = await HttpStub.start((request) => front.answer(request));
    return front;
  }

  get url(): string {
    return this.stub?.url ?? '';
  }

  /** Also for requests that are being held by the coordinator: they are answered by the fault. */
  turnOn(fault: FrontFault): void {
    this.fault = fault;
  }

  turnOff(): void {
    this.fault = null;
  }

  /** Another coordinator serves from now on. */
  leadTo(target: string): void {
    this.target = target;
  }

  /** The last time a heartbeat came that the coordinator answered with 200. */
  get lastHeartbeatMs(): number {
    const last = this.exchanges.findLast(
      ({ path, answeredBy, status }) =>
        path.endsWith('/heartbeat') && answeredBy === 'COORDINATOR' && status === 200,
    );
    if (last === undefined) throw new Error('no heartbeat was answered');
    return last.cameMs;
  }

  count(path: RegExp): number {
    return this.exchanges.filter((exchange) => path.test(exchange.path)).length;
  }

  async stop(): Promise<void> {
    await this.stub?.stop();
  }

  private async answer(request: StubRequest): Promise<StubAnswer | 'hang' | 'cut'> {
    const cameMs = Date.now();
    const path = request.url.split('?')[0] ?? '';
    const passed = this.fault === null ? await this.pass(request) : null;
    const { fault } = this;
    if (fault !== null) {
      const answer = FAULT_ANSWERS[fault];
      const status = typeof answer === 'string' ? 0 : (answer.status ?? 200);
      this.exchanges.push({ path, cameMs, answeredBy: fault, status });
      return answer;
    }
    const status = passed?.status ?? 0;
    this.exchanges.push({ path, cameMs, answeredBy: 'COORDINATOR', status });
    return passed ?? 'cut';
  }

  /** Null when nobody is there. */
  private async pass({ method, url, body }: StubRequest): Promise<StubAnswer | null> {
    try {
      const response = await fetch(`${this.target}${url}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.text() };
    } catch {
      return null;
    }
  }
}
