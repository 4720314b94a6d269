import { createServer } from 'node:net';

/** Below the range from which systems take the ports of outgoing connections: it stays free while nobody listens on it. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const ATTEMPTS = 50;

/** A port of the loopback address that a process can listen on again and again. */
export async function fixedPort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port');
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
