import { readFileSync } from 'node:fs';

/** Whether a process was stopped by a signal and lies still. Linux tells it behind the name, which may hold anything. */
export function isFrozen(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
