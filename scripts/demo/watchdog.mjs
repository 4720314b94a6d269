// Ends what the demo started, however the demo ends. It reads lines from its standard input: `watch <pid>`, `forget <pid>`,
// `folder <path>`. When the input closes, because the demo closed it or is gone, it kills what it watches and removes the folder.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const watched = new Set();
const folders = new Set();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, value = ''] = line.split(/ (.*)/s);
  if (verb === 'watch') watched.add(Number(value));
  if (verb === 'forget') watched.delete(Number(value));
  if (verb === 'folder') folders.add(value);
}
for (const pid of watched) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it is gone already
  }
}
for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
