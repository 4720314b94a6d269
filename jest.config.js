'use strict';

/**
 * One project per level of test, chosen by folder: `npx jest --selectProjects unit` runs one of them.
 * Timeouts are bounds on a hang, not waits: a test that needs longer than this for its own work is wrong.
 */
const LEVELS = {
  unit: { timeoutMs: 10_000 },
  contract: { timeoutMs: 30_000 },
  lua: { timeoutMs: 30_000 },
  flow: { timeoutMs: 30_000 },
  exploration: { timeoutMs: 600_000 },
  mutants: { timeoutMs: 600_000 },
  simulation: { timeoutMs: 240_000 },
  integration: { timeoutMs: 60_000 },
  fault: { timeoutMs: 120_000 },
  e2e: { timeoutMs: 120_000 },
  regression: { timeoutMs: 60_000 },
};

/** What every project shares. Decorator metadata must be emitted as tsc does: Nest's injection depends on it. */
const common = {
  rootDir: __dirname,
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  setupFilesAfterEnv: ['<rootDir>/test/support/set-timeout.js'],
  moduleFileExtensions: ['ts', 'js', 'cjs', 'mjs', 'json', 'node'],
  moduleNameMapper: {
    '^redis-stream-coordinator/(client|nestjs)$': '<rootDir>/src/$1/index.ts',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
          target: 'es2022',
        },
        module: { type: 'commonjs' },
      },
    ],
  },
};

const levelProjects = Object.entries(LEVELS).map(([level, { timeoutMs }]) => ({
  ...common,
  displayName: level,
  testMatch: [`<rootDir>/test/${level}/**/*.spec.ts`],
  globals: { TEST_TIMEOUT_MS: timeoutMs },
}));

/** Specs directly under test/ judge the repository itself (architecture, README). */
const repositoryProject = {
  ...common,
  displayName: 'repository',
  testMatch: ['<rootDir>/test/*.spec.ts'],
  globals: { TEST_TIMEOUT_MS: 120_000 },
};

module.exports = {
  // One at a time: some promises are about seconds, and a neighbour that takes the processor would break them.
  maxWorkers: 1,
  // Makes that one a process of its own, which is ended with the run whatever a library left open in it.
  workerIdleMemoryLimit: '1GB',
  projects: [...levelProjects, repositoryProject],
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.js'],
};
