import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

type ComposeService = {
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
};

const root = join(__dirname, '..', '..');
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

const { services } = parse(textOf('docker-compose.yml')) as {
  readonly services: Readonly<Record<'redis' | 'coordinator', ComposeService>>;
};

/** The value that follows an option of redis-server. */
function redisOption(name: string): string | undefined {
  const command = services.redis.command ?? [];
  const position = command.indexOf(`--${name}`);
  return position === -1 ? undefined : command[position + 1];
}

describe('docker-compose.yml', () => {
  it('lets Redis evict nothing', () => {
    expect(redisOption('maxmemory-policy')).toBe('noeviction');
  });

  it('lets Redis keep what was written across a restart', () => {
    expect(redisOption('appendonly')).toBe('yes');
    expect(redisOption('appendfsync')).toBe('everysec');
  });

  it('starts the coordinator when Redis answers', () => {
    expect(services.redis.healthcheck?.test).toEqual(['CMD', 'redis-cli', 'ping']);
    expect(services.coordinator.depends_on?.['redis']?.condition).toBe('service_healthy');
  });

  it('opens ports on this machine only, as long as nobody is asked who they are', () => {
    expect(services.coordinator.environment).toMatchObject({ HOST: '0.0.0.0', AUTH: 'disabled' });
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toHaveLength(2);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });
});

describe('Dockerfile', () => {
  const stages = textOf('Dockerfile').split(/^FROM /m);
  const shipped = (stages.at(-1) ?? '').split('\n');

  it('ships the scripts, the build and what it needs', () => {
    expect(shipped).toContain('COPY lua ./lua');
    expect(shipped).toContain('COPY --from=build /app/dist ./dist');
    expect(shipped).toContain('COPY --from=build /app/node_modules ./node_modules');
  });

  it('runs the coordinator itself, as a user without rights', () => {
    expect(shipped).toContain('USER node');
    expect(shipped).toContain('CMD ["node", "dist/main.js"]');
  });

  it('is judged by liveness, which does not depend on Redis', () => {
    const check = shipped.join('\n').match(/HEALTHCHECK[^]*?CMD (\[.*\])/)?.[1];
    const command = JSON.parse(check ?? '[]') as string[];
    expect(command.slice(0, 2)).toEqual(['node', '-e']);
    expect(command[2]).toContain('/health/live');
    expect(() => new Script(command[2] ?? '(')).not.toThrow();
  });
});

describe('the package', () => {
  const manifest = JSON.parse(textOf('package.json')) as {
    readonly files: readonly string[];
    readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };

  it('ships the scripts beside the build', () => {
    expect(manifest.files).toEqual(expect.arrayContaining(['dist', 'lua']));
  });

  it('names one exact version of everything it uses', () => {
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  it('offers the client and its Nest module, and nothing of the coordinator', () => {
    expect(Object.keys(manifest.exports)).toEqual(['./client', './nestjs', './package.json']);
  });
});
