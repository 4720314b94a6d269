import { Explorer } from './explore';
import type { Exploration } from './explore';
import { narrate } from './narrate';
import { NO_FAULTS } from './world-options';
import type { Budget, WorldOptions } from './world-options';

/** A world is explored with every test run, or by `npm run explore` only. */
export interface ListedWorld extends WorldOptions {
  readonly isQuick: boolean;
}

type Shape = Pick<WorldOptions, 'members' | 'shardCount'> & Partial<WorldOptions>;

const TWO_BY_ONE: Shape = { members: ['a', 'b'], shardCount: 1 };
const TWO_BY_TWO: Shape = { members: ['a', 'b'], shardCount: 2 };

function world(name: string, shape: Shape, budget: Partial<Budget>, isQuick: boolean): ListedWorld {
  return {
    ...{
      name,
      leaseSteps: 2,
      drainSteps: 2,
      baseClients: [],
      hasLateRequests: true,
      mayOmitLists: false,
      isQuick,
    },
    ...shape,
    budget: { ...NO_FAULTS, ...budget },
  };
}

const PROMPT_2X1: Shape = { ...TWO_BY_ONE, hasLateRequests: false };

const quick = (name: string, shape: Shape, budget: Partial<Budget>): ListedWorld =>
  world(name, shape, budget, true);
const large = (name: string, shape: Shape, budget: Partial<Budget>): ListedWorld =>
  world(name, shape, budget, false);

export const WORLDS: readonly ListedWorld[] = [
  quick('2x2', TWO_BY_TWO, {}),
  quick('2x1-long-lease', { ...TWO_BY_ONE, leaseSteps: 3, drainSteps: 3 }, {}),
  quick('2x1-base', { ...TWO_BY_ONE, baseClients: [0, 1] }, {}),
  quick('2x1-mixed-leave', { ...TWO_BY_ONE, baseClients: [1] }, { leaves: 1 }),
  quick('twins-2x1', { members: ['a', 'a'], shardCount: 1 }, {}),
  quick('twins-2x1-leave', { members: ['a', 'a'], shardCount: 1 }, { leaves: 1 }),
  large(
    'twins-and-one-leave',
    { members: ['a', 'a', 'b'], shardCount: 1, hasLateRequests: false },
    { leaves: 1 },
  ),
  quick('twins-2x1-base', { members: ['a', 'a'], shardCount: 1, baseClients: [0, 1] }, {}),
  quick('2x1-loss', TWO_BY_ONE, { losses: 1 }),
  quick('2x1-duplicate', TWO_BY_ONE, { duplicates: 1 }),
  quick('2x1-restart', TWO_BY_ONE, { restarts: 1 }),
  quick('2x1-leave', TWO_BY_ONE, { leaves: 1 }),
  quick('2x1-rollback', PROMPT_2X1, { rollbacks: 1 }),
  large('2x1-rollback-base', { ...PROMPT_2X1, baseClients: [0, 1], mayOmitLists: true }, { rollbacks: 1 }),
  large('2x1-rollback-late', TWO_BY_ONE, { rollbacks: 1 }),
  large('2x1-loss-duplicate', TWO_BY_ONE, { losses: 1, duplicates: 1 }),
  large('2x1-loss-restart', TWO_BY_ONE, { losses: 1, restarts: 1 }),
  large('2x1-duplicate-restart', TWO_BY_ONE, { duplicates: 1, restarts: 1 }),
  large('2x1-rollback-loss', PROMPT_2X1, { rollbacks: 1, losses: 1 }),
  large('2x1-rollback-duplicate', PROMPT_2X1, { rollbacks: 1, duplicates: 1 }),
  large('2x1-rollback-restart', PROMPT_2X1, { rollbacks: 1, restarts: 1 }),
  quick('2x2-loss', TWO_BY_TWO, { losses: 1 }),
  quick('2x2-duplicate', TWO_BY_TWO, { duplicates: 1 }),
  quick('2x2-restart', TWO_BY_TWO, { restarts: 1 }),
  quick('2x2-leave', TWO_BY_TWO, { leaves: 1 }),
  large('2x2-rollback', { ...TWO_BY_TWO, hasLateRequests: false }, { rollbacks: 1 }),
  large('3x2', { members: ['a', 'b', 'c'], shardCount: 2, hasLateRequests: false }, {}),
];

export interface WorldResult extends Omit<Exploration, 'violation'> {
  /** As text; null: none. */
  readonly violation: string | null;
}

/** @throws when the world is not listed, or has more than `maxStates` states. */
export function exploreWorld(name: string, maxStates: number): WorldResult {
  const options = WORLDS.find((listed) => listed.name === name);
  if (options === undefined) throw new Error(`there is no world ${name}`);
  const explorer = new Explorer(options, maxStates);
  const { violation, ...counts } = explorer.run();
  return { ...counts, violation: violation === null ? null : narrate(explorer, options, violation) };
}
