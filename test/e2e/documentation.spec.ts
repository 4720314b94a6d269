import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { renderConfigurationTable } from '../../src/config/configuration-table';
import type { CoordinatorProcess } from '../support/coordinator-process';
import { startCoordinatorProcess } from '../support/coordinator-process';
import { documentedExamples, RunningExample } from '../support/documented-example';
import type { RedisServer } from '../support/redis-server';
import { startRedisServer, waitUntil } from '../support/redis-server';

const DEADLINE_MS = 30_000;

describe('the examples of the documentation', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorProcess;
  let running: RunningExample[] = [];

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorProcess(redis.url);
    await coordinator.waitForReadiness(200);
  });

  afterEach(() => {
    for (const example of running) example.cleanUp();
    running = [];
  });

  afterAll(async () => {
    await coordinator.stop();
    await redis.stop();
  });

  function run(page: string, name: string, more: Readonly<Record<string, string>> = {}): RunningExample {
    const code = documentedExamples(page).get(name);
    if (code === undefined) throw new Error(`${page} has no example ${name}`);
    const addresses = { 'http://127.0.0.1:8080': coordinator.baseUrl, 'redis://127.0.0.1:6379': redis.url };
    const example = new RunningExample(code, { ...addresses, ...more });
    running.push(example);
    return example;
  }

  it('README: the stream is created, the publisher publishes, the consumer handles it and stops in an orderly way', async () => {
    const readme = readFileSync('README.md', 'utf8');
    const body = /curl -X POST http:\/\/127\.0\.0\.1:8080(\S+) .* -d '(.*)'$/m.exec(readme);
    const created = await coordinator.call('POST', body?.[1] ?? '', JSON.parse(body?.[2] ?? '') as unknown);
    expect(created.status).toBe(201);
    const consumer = run('README.md', 'consumer');
    const publisher = run('README.md', 'publisher');
    await waitUntil('the publisher has ended', DEADLINE_MS, () => publisher.exitCode !== null);
    expect(publisher.output).toMatch(/^published \d+-\d+ to orders:\d\n$/);
    await waitUntil('the consumer has handled it', DEADLINE_MS, () =>
      consumer.output.includes("payload: 'paid'"),
    );
    consumer.terminate();
    await waitUntil('the consumer has stopped', DEADLINE_MS, () => consumer.exitCode !== null);
    expect(consumer.exitCode).toBe(0);
    const members = await coordinator.call(
      'GET',
      '/coord/v1/monitoring/streams/orders/groups/orders-consumer/members',
    );
    expect(members.body).toEqual({ members: [] });
  });

  it('docs/client.md: publishes a batch, and the consumer passes it on', async () => {
    await coordinator.call('POST', '/coord/v1/streams/orders', { requestedBy: 'test' });
    const bodies: string[] = [];
    const service = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.toString('utf8')));
      request.on('end', () => response.end());
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const { port } = service.address() as AddressInfo;
    const consumer = run('docs/client.md', 'consumer', { '127.0.0.1:9999': `127.0.0.1:${port}` });
    run('docs/client.md', 'publisher');
    try {
      await waitUntil(
        'both entries were passed on',
        DEADLINE_MS,
        () => bodies.includes('placed') && bodies.includes('paid'),
      );
    } catch (error) {
      throw new Error(`the consumer said: ${consumer.output}`, { cause: error });
    } finally {
      service.close();
    }
    expect(bodies.indexOf('placed')).toBeLessThan(bodies.indexOf('paid'));
  });

  it('docs/client.md: a Nest application publishes, handles what it published, and stops', async () => {
    await coordinator.call('POST', '/coord/v1/streams/orders', { requestedBy: 'test' });
    const application = run('docs/client.md', 'nest');
    const hasHandled = (): boolean => {
      if (application.exitCode !== null) throw new Error(`it ended: ${application.output}`);
      return application.output.includes('handled placed');
    };
    await waitUntil('its own entry was handled', DEADLINE_MS, hasHandled);
    application.terminate();
    await waitUntil('it has stopped', DEADLINE_MS, () => application.exitCode !== null);
  });
});

describe('the configuration table of the README', () => {
  it('is the one that the options render', () => {
    const readme = readFileSync('README.md', 'utf8');
    const table = /<!-- configuration:begin -->\n([\s\S]*)<!-- configuration:end -->/.exec(readme)?.[1];
    expect(table).toBe(renderConfigurationTable());
  });
});
