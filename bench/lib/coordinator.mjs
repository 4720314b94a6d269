/** A real coordinator in a process of its own (`node dist/main.js`), and the few admin calls that benchmarks need. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort, startProgram, waitUntil } from './processes.mjs';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_DEADLINE_MS = 20_000;
const API = '/coord/v1';

/** Default settings, unless `environment` says otherwise. Resolves once the coordinator is ready. */
export async function startCoordinator(redis, { environment = {}, execArgv = [] } = {}) {
  if (!existsSync(MAIN)) {
    console.error(`${MAIN} is missing: run "npm run build" first`);
    process.exit(2);
  }
  const port = await freePort();
  const program = startProgram(process.execPath, [...execArgv, MAIN], {
    PORT: String(port),
    REDIS_URL: redis.url,
    COORD_KEY_PREFIX: redis.keyPrefix,
    ...environment,
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntil('the coordinator is ready', START_DEADLINE_MS, async () => {
    if (program.hasEnded()) throw new Error(`the coordinator ended: ${program.output()}`);
    const answer = await fetch(`${url}/health/ready`).catch(() => null);
    return answer?.status === 200;
  });
  return { url, pid: program.pid, output: program.output, stop: program.stop };
}

export async function createGroup(coordinator, { streamPrefix, consumerGroup, shardCount }) {
  return call(coordinator, 'POST', `/streams/${streamPrefix}/groups/${consumerGroup}`, {
    initialShardCount: shardCount,
    requestedBy: 'bench',
  });
}

export async function groupView(coordinator, { streamPrefix, consumerGroup }) {
  return call(coordinator, 'GET', `/streams/${streamPrefix}/groups/${consumerGroup}`);
}

export function heartbeatPath({ streamPrefix, consumerGroup }, memberId) {
  return `${API}/streams/${streamPrefix}/groups/${consumerGroup}/members/${memberId}/heartbeat`;
}

export async function heartbeat(coordinator, group, body) {
  return call(coordinator, 'POST', heartbeatPath(group, body.memberId).slice(API.length), body);
}

async function call({ url }, method, path, body) {
  const answer = await fetch(`${url}${API}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}
