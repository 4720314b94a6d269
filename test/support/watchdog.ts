import { type ChildProcess, spawn } from 'node:child_process';

const SCRIPT = 'read -r _; kill -9 "$0" 2>/dev/null; test -z "$1" || rm -rf "$1"';

/**
 * Kills `pid`, and removes `folder` if one is named, once this process ends, however it ends: a shell holds a pipe to it and
 * waits for that to close. Kill the watchdog itself when `pid` has ended, so that it never hits another process of that number.
 */
export function startWatchdog(pid: number, folder = ''): ChildProcess {
  const watchdog = spawn('/bin/sh', ['-c', SCRIPT, String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // not ended by a Ctrl-C in the terminal before it has done its work
  });
  watchdog.unref();
  const pipe = watchdog.stdin as unknown as { unref?: () => void };
  pipe.unref?.();
  return watchdog;
}
