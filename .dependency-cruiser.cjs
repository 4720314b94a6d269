'use strict';

/**
 * Which part of src may import which. Every folder directly under src is listed; test/architecture.spec.ts fails for
 * one that is not. An entry names folders, or the beginning of a path inside one. The order is that of the layers, and
 * nothing imports upward.
 */
const FOUNDATION = ['domain', 'protocol'];
const WIRING = ['config', 'metrics', 'http', 'store', 'critical-section', 'redis'];
const FEATURE = [...FOUNDATION, ...WIRING, 'auth', 'audit'];

const MAY_IMPORT = {
  domain: [],
  protocol: ['domain'],

  redis: FOUNDATION,
  config: [...FOUNDATION, 'redis'],
  metrics: [...FOUNDATION, 'config'],
  http: [...FOUNDATION, 'config', 'metrics'],
  store: [...FOUNDATION, 'redis', 'config', 'metrics'],
  audit: [...FOUNDATION, 'redis', 'config', 'metrics', 'store'],
  auth: [...FOUNDATION, 'redis', 'config', 'metrics', 'http', 'audit'],
  'critical-section': [...FOUNDATION, 'redis', 'config', 'metrics', 'http', 'store', 'audit'],

  // Features never import each other.
  membership: FEATURE,
  assignment: FEATURE,
  resharding: FEATURE,
  routing: FEATURE,
  admin: FEATURE,
  monitoring: FEATURE,
  'event-loop': FEATURE,
  health: FEATURE,

  // What is installed into other people's processes.
  client: ['protocol', 'domain/ids', 'domain/epochs', 'domain/time', 'domain/routing/'],
  nestjs: ['client', 'protocol'],
  cli: ['client', 'protocol'],
  usage: ['client/index', 'domain/time', 'domain/result', 'domain/assert', 'redis/lua-'],
};

/** `ioredis` and its Nest module are reached only from here; everything else is handed a port. */
const IOREDIS_HOLDERS = ['redis', 'client/redis', 'health'];

const escaped = (path) => path.replaceAll('.', '\\.');

/** `domain/ids` is the module or the folder of that name; a trailing `/` or `-` leaves the rest open. */
const pathPattern = (entry) => {
  const open = entry.endsWith('/') || entry.endsWith('-');
  return `^src/${escaped(entry)}${open ? '' : '(/|\\.ts$)'}`;
};

const directionRules = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `direction-${folder}`,
  comment: `src/${folder} may import ${allowed.length === 0 ? 'nothing else of src' : allowed.join(', ')}.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/[^/]+/', pathNot: [folder, ...allowed].map(pathPattern) },
}));

module.exports = {
  forbidden: [
    ...directionRules,
    {
      name: 'composition-root-is-on-top',
      comment: 'src/main.ts and src/app.module.ts import; nobody imports them.',
      severity: 'error',
      from: { path: '^src/[^/]+/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'domain-is-pure',
      comment: 'The domain uses no package and no Node module.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/' },
    },
    {
      name: 'protocol-is-plain',
      comment: 'The wire types use no package and no Node module: server and client share them.',
      severity: 'error',
      from: { path: '^src/protocol/' },
      to: { pathNot: '^src/' },
    },
    {
      name: 'sdk-without-nest',
      comment: 'The SDK and the operator commands need no Nest.',
      severity: 'error',
      from: { path: '^src/(client|cli)/' },
      to: { path: 'node_modules/(@nestjs|@liaoliaots|@willsoto|class-validator|class-transformer|rxjs)' },
    },
    {
      name: 'ioredis-behind-ports',
      comment: `Only ${IOREDIS_HOLDERS.join(', ')} know ioredis.`,
      severity: 'error',
      from: { path: '^src/', pathNot: IOREDIS_HOLDERS.map((folder) => `^src/${folder}/`) },
      to: { path: 'node_modules/ioredis/' },
    },
    {
      name: 'no-circular',
      comment: 'Modules that need each other are one module.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'Every import leads to a file.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'shipped-dependencies-only',
      comment: 'What runs in production is in dependencies, not in devDependencies.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json', '.d.ts'], mainFields: ['main', 'types'] },
  },
};

// Read by test/architecture.spec.ts. Not enumerable: dependency-cruiser refuses keys that it does not know.
Object.defineProperties(module.exports, {
  mayImport: { value: MAY_IMPORT },
  ioredisHolders: { value: IOREDIS_HOLDERS },
});
