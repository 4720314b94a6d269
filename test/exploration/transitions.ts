import { CanonicalForm } from './canonical';
import type { Cells, Effect } from './cells';
import { newClient, nextForm, shardsInUse } from './client';
import { bitsOf } from './labels';
import {
  ageIn,
  BUDGET,
  clientAt,
  GROUP,
  MAX_STRAYS,
  messageIn,
  REDIS,
  SNAPSHOT,
  slotAt,
  slotOf,
  STRAYS,
  widthFor,
} from './state-row';
import { hasLeft, packBudget, spend } from './world-options';
import type { WorldOptions } from './world-options';
import { NOW, STEP } from './model-time';

/**
 * What can happen, in the order in which a fair schedule prefers it: answers and requests arrive, what drains has drained,
 * members heartbeat, the event loop looks, time passes. The others are faults, leaves, and requests sooner than needed.
 */
export const STEPS = [
  ...(['ANSWER', 'DELIVER', 'STRAY', 'STOP', 'SEND', 'TICK', 'CLOCK'] as const),
  ...(['SEND_BARE', 'LOSE', 'DUPLICATE', 'RESTART', 'LEAVE', 'ROLLBACK'] as const),
  // The same, and what they write is the first that Redis will lose.
  ...(['DELIVER_LOST', 'STRAY_LOST', 'TICK_LOST'] as const),
] as const;
export type Step = (typeof STEPS)[number];

export interface Sink {
  /** `row` is to be copied. `argument` tells which client (times 32, plus the shard) or stray. */
  readonly reach: (step: Step, argument: number, row: Int32Array, isFair: boolean) => void;
  readonly violate: (step: Step, argument: number, what: string) => void;
}

const SHARDS_PER_CLIENT = 32;

/** Everything that can happen next in a world, and what must hold in each of its states. */
export class Transitions {
  readonly width: number;
  private readonly next: Int32Array;
  private readonly canonical: CanonicalForm;
  private readonly clientCount: number;
  private readonly leaseSteps: number;

  constructor(
    private readonly options: WorldOptions,
    readonly cells: Cells,
  ) {
    this.clientCount = options.members.length;
    this.width = widthFor(this.clientCount);
    this.next = new Int32Array(this.width);
    this.canonical = new CanonicalForm(cells);
    this.leaseSteps = options.leaseSteps;
  }

  start(): Int32Array {
    const { options, cells } = this;
    const row = new Int32Array(this.width);
    row[GROUP] = cells.firstGroup();
    row[BUDGET] = packBudget(options.budget);
    const names = [...new Set(options.members)];
    options.members.forEach((name, position) => {
      const isBase = options.baseClients.includes(position);
      row[clientAt(position)] = cells.clients.intern(newClient(names.indexOf(name), isBase));
    });
    this.canonical.apply(row);
    return row;
  }

  expand(row: Int32Array, sink: Sink): void {
    this.rollback(row, sink); // first, as nothing comes to rest before
    for (let position = 0; position < this.clientCount; position += 1) this.answers(row, position, sink);
    for (let position = 0; position < this.clientCount; position += 1) this.deliveries(row, position, sink);
    this.strays(row, sink);
    for (let position = 0; position < this.clientCount; position += 1) this.stops(row, position, sink);
    for (let position = 0; position < this.clientCount; position += 1) this.sends(row, position, sink);
    this.decided(
      row,
      'TICK',
      0,
      sink,
      this.cells.tick(row[GROUP] as number, row[REDIS] as number),
      () => undefined,
    );
    this.clock(row, sink);
    for (let position = 0; position < this.clientCount; position += 1) this.faults(row, position, sink);
  }

  /** What must hold in every state; null when it does. */
  violation(row: Int32Array): string | null {
    let used = 0;
    for (let position = 0; position < this.clientCount; position += 1) {
      const inUse = this.cells.inUse[row[clientAt(position)] as number] as number;
      if ((used & inUse) !== 0) return `two processes use shard ${bitsOf(used & inUse).join()}`;
      used |= inUse;
    }
    return null;
  }

  /** Whether the group has come to rest and every shard is read; with nobody left, by nobody. */
  isSettled(row: Int32Array): boolean {
    const group = row[GROUP] as number;
    if (!this.cells.atRest[group] || row[SNAPSHOT] !== 0) return false;
    let read = 0;
    let isAnyLeft = false;
    for (let position = 0; position < this.clientCount; position += 1) {
      const client = this.cells.clients.at(row[clientAt(position)] as number);
      if (client.phase === 'ENDED') continue;
      isAnyLeft = true;
      if (client.phase !== 'MEMBER' || client.draining !== 0) return false;
      read |= shardsInUse(client);
    }
    return !isAnyLeft || read === (1 << this.options.shardCount) - 1;
  }

  private begin(row: Int32Array): Int32Array {
    this.next.set(row);
    return this.next;
  }

  private reach(sink: Sink, step: Step, argument: number, isFair: boolean): void {
    this.canonical.apply(this.next);
    sink.reach(step, argument, this.next, isFair);
  }

  private answers(row: Int32Array, position: number, sink: Sink): void {
    const slot = row[slotAt(position)] as number;
    if (slot === 0 || this.cells.messages.at(messageIn(slot)).kind !== 'ANSWER') return;
    const next = this.begin(row);
    next[clientAt(position)] = this.cells.answer(
      row[clientAt(position)] as number,
      messageIn(slot),
      ageIn(slot),
    );
    next[slotAt(position)] = 0;
    this.reach(sink, 'ANSWER', position, true);
  }

  private deliveries(row: Int32Array, position: number, sink: Sink): void {
    const slot = row[slotAt(position)] as number;
    const request = messageIn(slot);
    if (slot === 0 || this.cells.messages.at(request).kind !== 'REQUEST') return;
    const effect = this.cells.deliver(row[GROUP] as number, request, row[REDIS] as number);
    const answered = (next: Int32Array): void => {
      next[slotAt(position)] = slotOf(effect.answer, ageIn(slot));
    };
    this.decided(row, 'DELIVER', position, sink, effect, answered);
    if (!hasLeft(row[BUDGET] as number, 'duplicates') || effect.fault !== null) return;
    const next = this.begin(row);
    next[GROUP] = effect.group;
    next[BUDGET] = spend(row[BUDGET] as number, 'duplicates');
    answered(next);
    addStray(next, request);
    this.reach(sink, 'DUPLICATE', position, false);
  }

  private strays(row: Int32Array, sink: Sink): void {
    for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
      const stray = row[at] as number;
      if (stray === 0) continue;
      const effect = this.cells.deliver(row[GROUP] as number, stray - 1, row[REDIS] as number);
      this.decided(row, 'STRAY', at - STRAYS, sink, effect, (next) => {
        next[at] = 0;
      });
    }
  }

  /** A decision of the coordinator is recorded, and where Redis may go back, also one that will be lost. */
  private decided(
    row: Int32Array,
    step: 'DELIVER' | 'STRAY' | 'TICK',
    argument: number,
    sink: Sink,
    effect: Effect,
    follow: (next: Int32Array) => void,
  ): void {
    const what = effect.fault ?? this.wrongGrant(row, effect);
    if (what !== null) {
      sink.violate(step, argument, what);
      return;
    }
    const isChange = effect.group !== row[GROUP];
    if (step === 'TICK' && !isChange) return;
    const next = this.begin(row);
    next[GROUP] = effect.group;
    follow(next);
    this.reach(sink, step, argument, true);
    if (!isChange || row[SNAPSHOT] !== 0 || !hasLeft(row[BUDGET] as number, 'rollbacks')) return;
    const lost = this.begin(row);
    lost[GROUP] = effect.group;
    lost[SNAPSHOT] = (row[GROUP] as number) + 1;
    follow(lost);
    this.reach(sink, `${step}_LOST`, argument, false);
  }

  /** A shard is granted only when no other tenure uses it, or has an answer under way that lets it. */
  private wrongGrant(row: Int32Array, { grants }: Effect): string | null {
    for (const { shard, memberId, epoch } of grants) {
      for (let position = 0; position < this.clientCount; position += 1) {
        const client = this.cells.clients.at(row[clientAt(position)] as number);
        const isGrantee = this.cells.memberIdAt(client.member) === memberId && client.epoch === epoch;
        const mayUse = shardsInUse(client) | this.aboutToUse(row, position);
        if (!isGrantee && (mayUse & (1 << shard)) !== 0) {
          return `shard ${shard} is granted to ${memberId} while process ${position} uses it, or is about to`;
        }
      }
    }
    return null;
  }

  private aboutToUse(row: Int32Array, position: number): number {
    const slot = row[slotAt(position)] as number;
    if (slot === 0 || ageIn(slot) >= this.leaseSteps) return 0;
    const message = this.cells.messages.at(messageIn(slot));
    const { phase } = this.cells.clients.at(row[clientAt(position)] as number);
    const mayStart = message.kind === 'ANSWER' && message.status === 'OK' && phase !== 'LEAVING';
    return mayStart ? message.assigned : 0;
  }

  private stops(row: Int32Array, position: number, sink: Sink): void {
    const client = row[clientAt(position)] as number;
    const { draining, winding } = this.cells.clients.at(client);
    for (const shard of bitsOf(draining | winding)) {
      this.begin(row)[clientAt(position)] = this.cells.stop(client, shard);
      this.reach(sink, 'STOP', position * SHARDS_PER_CLIENT + shard, true);
    }
  }

  /** One request at a time, and no more than one in a step of the clock unless there is news. */
  private sends(row: Int32Array, position: number, sink: Sink): void {
    const cell = row[clientAt(position)] as number;
    const client = this.cells.clients.at(cell);
    if (row[slotAt(position)] !== 0 || client.phase === 'ENDED' || client.winding !== 0) return;
    const isDue = nextForm(client) !== 'BEAT' || client.leaseEndMs < NOW + this.leaseSteps * STEP;
    const recorded = this.cells.groups.at(row[GROUP] as number).metadata?.metadataVersion ?? 0;
    const hasNews = client.revoked !== 0 || client.version !== (recorded as number);
    if (!isDue && !hasNews) return;
    this.send(row, position, 'SEND', isDue, sink);
    if (this.options.mayOmitLists && client.isBase && nextForm(client) === 'BEAT')
      this.send(row, position, 'SEND_BARE', false, sink);
  }

  private send(
    row: Int32Array,
    position: number,
    step: 'SEND' | 'SEND_BARE',
    isFair: boolean,
    sink: Sink,
  ): void {
    const sent = this.cells.send(row[clientAt(position)] as number, step === 'SEND_BARE');
    const next = this.begin(row);
    next[clientAt(position)] = sent.client;
    next[slotAt(position)] = slotOf(sent.request, 0);
    this.reach(sink, step, position, isFair);
  }

  private clock(row: Int32Array, sink: Sink): void {
    const next = this.begin(row);
    const snapshot = row[SNAPSHOT] as number;
    next[GROUP] = this.cells.ageGroup(row[GROUP] as number);
    if (snapshot !== 0) next[SNAPSHOT] = this.cells.ageGroup(snapshot - 1) + 1;
    for (let position = 0; position < this.clientCount; position += 1) {
      const before = row[clientAt(position)] as number;
      const client = this.cells.ageClient(before);
      const slot = row[slotAt(position)] as number;
      next[clientAt(position)] = client;
      if (slot === 0) continue;
      const isOver = this.cells.clients.at(client).phase !== this.cells.clients.at(before).phase;
      const ageSteps = Math.min(this.leaseSteps, ageIn(slot) + 1);
      next[slotAt(position)] = slotOf(messageIn(slot), ageSteps);
      if (!isOver) continue;
      if (this.options.hasLateRequests) this.abandon(next, position);
      else next[slotAt(position)] = 0;
    }
    this.reach(sink, 'CLOCK', 0, true);
  }

  private faults(row: Int32Array, position: number, sink: Sink): void {
    const cell = row[clientAt(position)] as number;
    const client = this.cells.clients.at(cell);
    const slot = row[slotAt(position)] as number;
    const budget = row[BUDGET] as number;
    if (slot !== 0 && hasLeft(budget, 'losses')) {
      const next = this.begin(row);
      next[BUDGET] = spend(budget, 'losses');
      this.abandon(next, position);
      this.reach(sink, 'LOSE', position, false);
    }
    if (client.phase === 'ENDED') return;
    if (hasLeft(budget, 'restarts')) {
      const next = this.begin(row);
      next[BUDGET] = spend(budget, 'restarts');
      this.abandon(next, position);
      next[clientAt(position)] = this.cells.clients.intern(newClient(client.member, client.isBase));
      this.reach(sink, 'RESTART', position, false);
    }
    if (client.phase !== 'LEAVING' && client.winding === 0 && hasLeft(budget, 'leaves')) {
      const next = this.begin(row);
      next[BUDGET] = spend(budget, 'leaves');
      next[clientAt(position)] = this.cells.leave(
        cell,
        slot === 0 ? 0 : Math.min(this.leaseSteps - 1, ageIn(slot)),
      );
      this.reach(sink, 'LEAVE', position, false);
    }
  }

  /** Nobody waits any more: an answer is lost, a request stays under way. */
  private abandon(next: Int32Array, position: number): void {
    const slot = next[slotAt(position)] as number;
    if (slot === 0) return;
    next[slotAt(position)] = 0;
    if (this.cells.messages.at(messageIn(slot)).kind === 'REQUEST') addStray(next, messageIn(slot));
  }

  private rollback(row: Int32Array, sink: Sink): void {
    const snapshot = row[SNAPSHOT] as number;
    if (snapshot === 0) return;
    const next = this.begin(row);
    next[GROUP] = snapshot - 1;
    next[SNAPSHOT] = 0;
    next[REDIS] = (row[REDIS] as number) + 1;
    next[BUDGET] = spend(row[BUDGET] as number, 'rollbacks');
    this.reach(sink, 'ROLLBACK', 0, true);
  }
}

function addStray(row: Int32Array, request: number): void {
  for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
    if (row[at] === request + 1) return; // the same request twice under way is a duplicate of a duplicate
    if (row[at] !== 0) continue;
    row[at] = request + 1;
    return;
  }
  throw new Error(`more than ${MAX_STRAYS} requests are under way that nobody waits for`);
}
