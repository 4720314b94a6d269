import { Cells } from './cells';
import { grown, StateTable } from './state-table';
import { STEPS, Transitions } from './transitions';
import type { Sink, Step } from './transitions';
import type { WorldOptions } from './world-options';

export interface Exploration {
  readonly states: number;
  readonly transitions: number;
  /** Steps of the longest of the shortest histories. */
  readonly depth: number;
  /** The first one found, with the shortest history that leads to it. */
  readonly violation: Violation | null;
}

export interface Violation {
  readonly what: string;
  readonly history: readonly {
    readonly step: Step | 'START';
    readonly argument: number;
    readonly row: Int32Array;
  }[];
}

interface Found {
  readonly what: string;
  readonly state: number;
  /** Taken from that state; null: the state itself is at fault. */
  readonly step: { readonly step: Step; readonly argument: number } | null;
}

const NO_STATE = -1;
const ARGUMENTS = 1 << 12;

/**
 * Breadth first through everything that can happen in a world, until nothing new is left. Then from every state the fair
 * schedule without further faults is followed to its end: the group must come to rest with every shard read.
 * @throws when there are more than `maxStates`: a bound that grows unnoticed would hide that the frontier is not empty.
 */
export class Explorer {
  readonly transitions: Transitions;
  private readonly table: StateTable;
  private readonly row: Int32Array;
  /** By state: the one from which it was first reached, the step that led to it, the next one of the fair schedule. */
  private parents: Int32Array = new Int32Array(1 << 12);
  private steps: Int32Array = new Int32Array(1 << 12);
  private fair: Int32Array = new Int32Array(1 << 12);
  private transitionCount = 0;
  private found: Found | null = null;

  constructor(
    private readonly options: WorldOptions,
    private readonly maxStates: number,
  ) {
    this.transitions = new Transitions(options, new Cells(options));
    this.table = new StateTable(this.transitions.width);
    this.row = new Int32Array(this.transitions.width);
  }

  run(): Exploration {
    this.enter(this.transitions.start(), NO_STATE, 'CLOCK', 0);
    let depth = 0;
    for (let from = 0; from < this.table.size && !this.isOver(); depth += 1) {
      const until = this.table.size;
      for (let state = from; state < until && !this.isOver(); state += 1) this.visit(state);
      from = until;
    }
    if (!this.isOver() && !this.isRestless()) this.checkFairness();
    const violation = this.violation();
    return { states: this.table.size, transitions: this.transitionCount, depth: depth - 1, violation };
  }

  private violation(): Violation | null {
    const { found } = this;
    return found === null ? null : { what: found.what, history: this.historyOf(found) };
  }

  private isOver(): boolean {
    return this.found !== null;
  }

  /** Two processes of one member id go on taking its place from each other. */
  private isRestless(): boolean {
    return new Set(this.options.members).size < this.options.members.length;
  }

  private visit(state: number): void {
    this.table.read(state, this.row);
    let next = NO_STATE;
    const sink: Sink = {
      reach: (step, argument, row, isFair) => {
        this.transitionCount += 1;
        const reached = this.enter(row, state, step, argument);
        if (isFair && next === NO_STATE) next = reached;
      },
      violate: (step, argument, what) => {
        this.found ??= { what, state, step: { step, argument } };
      },
    };
    this.transitions.expand(this.row, sink);
    this.fair[state] = this.transitions.isSettled(this.row) ? state : next;
  }

  private enter(row: Int32Array, parent: number, step: Step, argument: number): number {
    const before = this.table.size;
    const state = this.table.add(row);
    if (state < before) return state;
    if (this.table.size > this.maxStates)
      throw new Error(`${this.options.name}: more than ${this.maxStates} states`);
    if (state >= this.parents.length) {
      this.parents = grown(this.parents);
      this.steps = grown(this.steps);
      this.fair = grown(this.fair);
    }
    this.parents[state] = parent;
    this.steps[state] = STEPS.indexOf(step) * ARGUMENTS + argument;
    const what = this.transitions.violation(row);
    if (what !== null) this.found ??= { what, state, step: null };
    return state;
  }

  /** Each state has one next state of the fair schedule: from each of them a settled one must be reached. */
  private checkFairness(): void {
    const settles = new Uint8Array(this.table.size); // 1: it does; 2: on the path that is being followed
    for (let first = 0; first < this.table.size; first += 1) {
      const path: number[] = [];
      let state = first;
      while (settles[state] === 0) {
        settles[state] = 2;
        path.push(state);
        const next = this.fair[state] as number;
        if (next === state) settles[state] = 1;
        state = next;
      }
      if (settles[state] === 2) {
        this.found = {
          what: 'without further faults the group never comes to rest with every shard read',
          state: first,
          step: null,
        };
        return;
      }
      for (const passed of path) settles[passed] = 1;
    }
  }

  private historyOf({ state, step }: Found): Violation['history'] {
    const history: { step: Step | 'START'; argument: number; row: Int32Array }[] = [];
    for (let at = state; at !== NO_STATE; at = this.parents[at] as number) {
      const row = new Int32Array(this.transitions.width);
      this.table.read(at, row);
      const packed = this.steps[at] as number;
      const isStart = (this.parents[at] as number) === NO_STATE;
      history.unshift({
        step: isStart ? 'START' : (STEPS[Math.floor(packed / ARGUMENTS)] as Step),
        argument: packed % ARGUMENTS,
        row,
      });
    }
    const last = history[history.length - 1];
    if (step !== null && last !== undefined) history.push({ ...step, row: last.row });
    return history;
  }
}
