import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface StubRequest {
  readonly method: string;
  /** Path with query, as sent. */
  readonly url: string;
  readonly body: unknown;
  /** Which connection it came on, counted from 1. */
  readonly connection: number;
}

export interface StubAnswer {
  readonly status?: number;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What to answer; `hang` never answers, `cut` closes the connection instead. */
export type StubHandler = (
  request: StubRequest,
) => StubAnswer | 'hang' | 'cut' | Promise<StubAnswer | 'hang' | 'cut'>;

/** A real HTTP server on the loopback address, whose answers a test decides. */
export class HttpStub {
  readonly requests: StubRequest[] = [];
  url = '';
  private readonly sockets = new Map<Socket, number>();
  private connections = 0;

  private constructor(
    private readonly server: Server,
    public handler: StubHandler,
  ) {}

  static async start(handler: StubHandler): Promise<HttpStub> {
    const server = createServer();
    const stub = new HttpStub(server, handler);
    server.on('connection', (socket) => {
      stub.connections += 1;
      stub.sockets.set(socket, stub.connections);
      socket.once('close', () => stub.sockets.delete(socket));
    });
    server.on('request', (request, response) => {
      stub.answer(request).then(
        (answer) => {
          if (answer === 'cut') request.socket.destroy();
          if (typeof answer === 'string') return;
          const { status = 200, body = {}, headers = {} } = answer;
          response.writeHead(status, { 'content-type': 'application/json', ...headers });
          response.end(typeof body === 'string' ? body : JSON.stringify(body));
        },
        (failure: unknown) => response.destroy(failure as Error),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return stub;
  }

  /** Closes the listener and every connection: connecting is refused from now on. */
  async stop(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets.keys()) socket.destroy();
    await closed;
  }

  private async answer(request: IncomingMessage): Promise<StubAnswer | 'hang' | 'cut'> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const stubRequest: StubRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      body: text === '' ? undefined : JSON.parse(text),
      connection: this.sockets.get(request.socket) ?? 0,
    };
    this.requests.push(stubRequest);
    return this.handler(stubRequest);
  }
}
