import { RequestMethod } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CriticalSection } from '../../src/critical-section/critical-section';
import { type CoordinatorApp, errorOf, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

interface Route {
  readonly method: string;
  readonly path: string;
}

/** Not documented: /metrics speaks Prometheus' own format. */
const UNDOCUMENTED = new Set(['GET /metrics']);

/** A valid body for every route that may change something; a new one must be entered here. */
const MUTATIONS: Readonly<Record<string, unknown>> = {
  'POST /coord/v1/streams/:streamPrefix': { requestedBy: 'test', consumerGroup: 'other' },
  'POST /coord/v1/streams/:streamPrefix/groups/:consumerGroup': { requestedBy: 'test' },
  'POST /coord/v1/streams/:streamPrefix/groups/:consumerGroup/members/:memberId/heartbeat': heartbeatOf('m1'),
  'DELETE /coord/v1/streams/:streamPrefix/groups/:consumerGroup/members/:memberId': {
    requestedBy: 'test',
    reason: 'x',
  },
  'DELETE /coord/v1/streams/:streamPrefix/groups/:consumerGroup': { requestedBy: 'test', reason: 'x' },
};
const RESTORE = 'POST /coord/v1/streams/:streamPrefix/groups/:consumerGroup/metadata/restore';
/** Of no group: entries are added to the index, each by one command. */
const OUTSIDE_OF_GROUPS = ['POST /coord/v1/index/repair'];

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
  };
}
interface Operation {
  readonly summary?: string;
  readonly requestBody?: unknown;
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[];
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description?: string;
        readonly content?: Readonly<
          Record<string, { readonly schema?: unknown; readonly example?: unknown }>
        >;
      }
    >
  >;
}

describe('the surface of the coordinator', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;
  let document: OpenApi;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
    document = (await coordinator.call('GET', '/openapi.json')).body as OpenApi;
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  /** By reflection over the Nest container: whatever is routed, wherever it came from. */
  const routes = (): Route[] => {
    const scanner = new MetadataScanner();
    const modules = [...coordinator.app.get(ModulesContainer).values()];
    const controllers = modules.flatMap((module) =>
      [...module.controllers.values()].map(({ metatype }) => metatype),
    );
    return controllers
      .filter((controller) => controller !== null && typeof controller === 'function')
      .flatMap((controller) => {
        const prefix = String(Reflect.getMetadata('path', controller));
        const prototype = (controller as { prototype: Record<string, object> }).prototype;
        return scanner.getAllMethodNames(prototype).flatMap((name) => {
          const handler = prototype[name] ?? {};
          const method: unknown = Reflect.getMetadata('method', handler);
          if (typeof method !== 'number') return [];
          const path = `/${prefix}/${String(Reflect.getMetadata('path', handler))}`
            .replaceAll(/\/+/g, '/')
            .replace(/(.)\/$/, '$1');
          return [{ method: RequestMethod[method] ?? '', path }];
        });
      });
  };
  const concrete = (path: string): string =>
    path.replace(':streamPrefix', 'orders').replace(':consumerGroup', 'g').replace(':memberId', 'm1');
  const mutating = (): Route[] => routes().filter(({ method }) => method !== 'GET');

  it('has the routes that are expected of this version', () => {
    expect(routes().length).toBeGreaterThanOrEqual(16);
    expect(
      mutating()
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    ).toEqual([...Object.keys(MUTATIONS), RESTORE, ...OUTSIDE_OF_GROUPS].sort());
  });

  const exported = async (): Promise<unknown> => {
    await coordinator.call('POST', '/coord/v1/streams/orders/groups/g', { requestedBy: 'test' });
    const { body } = await coordinator.call('GET', '/coord/v1/streams/orders/groups/g/metadata');
    return { requestedBy: 'test', reason: 'x', document: body };
  };
  const bodies = [
    ...Object.entries(MUTATIONS).map(([route, body]) => [route, () => Promise.resolve(body)] as const),
    [RESTORE, exported] as const,
  ];

  it.each(bodies)('%s passes through the critical section', async (route, bodyOf) => {
    const body = await bodyOf();
    const run = jest.spyOn(coordinator.app.get(CriticalSection), 'run');
    try {
      const [method = '', path = ''] = route.split(' ');
      const answer = await coordinator.call(method, concrete(path), body);
      expect(answer.status).toBeLessThan(300);
      expect(run).toHaveBeenCalled();
    } finally {
      run.mockRestore();
    }
  });

  it('refuses a bad body on every route that takes one, so that no DTO was erased', async () => {
    for (const { method, path } of mutating()) {
      const answer = await coordinator.call(method, concrete(path), { requestedBy: 5, memberId: 5 });
      expect([path, answer.status, errorOf(answer).errorCode]).toEqual([path, 400, 'INVALID_REQUEST']);
      expect(errorOf(answer).details?.length).toBeGreaterThan(0);
    }
  });

  it('refuses a bad name on every route that has one', async () => {
    for (const { method, path } of routes().filter((route) => route.path.includes(':'))) {
      for (const name of path.match(/:\w+/g) ?? []) {
        const bad = concrete(path.replace(name, 'b%20d'));
        const route = `${method} ${path}`;
        const other = route === RESTORE ? { requestedBy: 'test', reason: 'x', document: {} } : undefined;
        const body = method === 'GET' ? undefined : (MUTATIONS[route] ?? other);
        const answer = await coordinator.call(method, bad, body);
        expect([path, answer.status]).toEqual([path, 400]);
        expect(errorOf(answer).details?.map(({ field }) => field)).toContain(name.slice(1));
      }
    }
  });

  it('documents every route, and no other', () => {
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      ),
    );
    const expected = routes()
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !UNDOCUMENTED.has(route));
    expect(documented.sort()).toEqual(expected.sort());
  });

  it('documents for every route what it does, its parameters, its answers with a schema, and its errors', () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const where = `${method} ${path}`;
        expect([where, (operation.summary ?? '') !== '']).toEqual([where, true]);
        expect([where, operation.requestBody !== undefined]).toEqual([
          where,
          ['post', 'delete'].includes(method),
        ]);
        for (const parameter of operation.parameters ?? []) {
          expect([where, parameter.name, (parameter.description ?? '') !== '']).toEqual([
            where,
            parameter.name,
            true,
          ]);
        }
        const answers = Object.entries(operation.responses);
        for (const [status, response] of answers) {
          expect([where, status, (response.description ?? '') !== '']).toEqual([where, status, true]);
          expect([where, status, response.content?.['application/json']?.schema !== undefined]).toEqual([
            where,
            status,
            true,
          ]);
        }
        if (path.includes('{'))
          expect(answers.map(([status]) => status)).toEqual(expect.arrayContaining(['400', '500', '503']));
      }
    }
  });

  it('documents every field with an example or a schema of its own', () => {
    const bare = Object.entries(document.components.schemas).flatMap(([schema, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, property]) => !/"(example|\$ref|items|allOf)"/.test(JSON.stringify(property)))
        .map(([field]) => `${schema}.${field}`),
    );
    expect(bare).toEqual([]);
  });

  it('can be browsed without the internet', async () => {
    const page = await coordinator.call('GET', '/docs');
    expect(page.headers.get('content-type')).toContain('text/html');
    const assets = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(assets.length).toBeGreaterThan(2);
    for (const asset of assets) {
      expect(asset).not.toMatch(/^(https?:)?\/\//);
      const path = new URL(asset, `${coordinator.url}/docs`).pathname;
      expect([asset, (await coordinator.call('GET', path)).status]).toEqual([asset, 200]);
    }
  });
});
