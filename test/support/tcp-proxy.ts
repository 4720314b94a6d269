import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What is held back: a request before the target gets it, or the answers to one that the target has got. */
export type Held = 'REQUEST' | 'ANSWER';

interface HoldRule {
  readonly held: Held;
  readonly matches: (sent: string) => boolean;
  readonly onHeld: () => void;
}

interface Link {
  readonly client: Socket;
  readonly target: Socket;
  holding: Held | null;
  /** What is held back, in order. */
  readonly kept: Buffer[];
  /** What the target has answered since the last delivery. */
  answered: string;
}

/**
 * A wire between a process and a Redis, on the loopback address, that a test may hold or cut. What a client sent before it
 * went away stays held, and can still be delivered, as by a slow network.
 */
export class TcpProxy {
  private readonly links = new Set<Link>();
  private readonly server: Server;
  private rule: HoldRule | null = null;

  constructor(private readonly targetPort: number) {
    this.server = createServer((client) => this.accept(client));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /**
   * Holds back the next request that matches, or the answers to it, with all that follows in the same direction on its
   * connection. `onHeld` is called in the moment when there is something to hold.
   */
  hold(held: Held, matches: (sent: string) => boolean, onHeld: () => void = () => undefined): void {
    this.rule = { held, matches, onHeld };
  }

  get isHolding(): boolean {
    return [...this.links].some(({ kept }) => kept.length > 0);
  }

  /** Lets go of what is held, in order. @returns tells what the target has answered since then. */
  deliver(): () => string {
    const links = [...this.links].filter(({ holding }) => holding !== null);
    for (const link of links) {
      const to = link.holding === 'REQUEST' ? link.target : link.client;
      link.answered = '';
      link.holding = null;
      for (const chunk of link.kept.splice(0)) to.write(chunk);
    }
    return () => links.map(({ answered }) => answered).join('');
  }

  /** Ends every connection; what was held is lost. New connections are served. */
  cut(): void {
    this.rule = null;
    for (const link of this.links) this.end(link);
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(client: Socket): void {
    const target = connect({ host: '127.0.0.1', port: this.targetPort });
    const link: Link = { client, target, holding: null, kept: [], answered: '' };
    this.links.add(link);
    client.on('data', (sent) => {
      this.applyRule(link, sent);
      if (link.holding === 'REQUEST') this.keep(link, sent);
      else target.write(sent);
    });
    target.on('data', (answer) => {
      link.answered += answer.toString('latin1');
      if (link.holding === 'ANSWER') this.keep(link, answer);
      else if (!client.destroyed) client.write(answer);
    });
    client.on('close', () => {
      if (link.holding !== 'REQUEST') this.end(link);
    });
    target.on('close', () => this.end(link));
    for (const socket of [client, target]) socket.on('error', () => undefined);
  }

  private applyRule(link: Link, sent: Buffer): void {
    if (this.rule === null || link.holding !== null || !this.rule.matches(sent.toString('latin1'))) return;
    link.holding = this.rule.held;
  }

  private keep(link: Link, chunk: Buffer): void {
    link.kept.push(chunk);
    const { rule } = this;
    if (rule === null) return;
    this.rule = null; // only one is held
    rule.onHeld();
  }

  private end(link: Link): void {
    this.links.delete(link);
    link.client.destroy();
    link.target.destroy();
  }
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const proxy = new TcpProxy(targetPort);
  await proxy.listen();
  return proxy;
}
