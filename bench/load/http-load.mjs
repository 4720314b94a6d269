/**
 * The load generator: posts prepared bodies over as many keep-alive connections as requests may be in flight, each as soon
 * as the one before it on its connection is answered. It uses undici's lowest interface, so that it is faster than any server
 * it measures; that the server was what limits is shown by the CPU time the benchmark reports.
 */
import { Pool } from 'undici';
import { serve } from '../lib/processes.mjs';
import { COUNTER_MARK, TOGGLE_MARK } from '../lib/simulated-members.mjs';

const HEADERS = { 'content-type': 'application/json' };
const OK_STATUS = Buffer.from('"status":"OK"');
const TOGGLED = ['4', '5'];

let senders = [];
let counter = 0;

/** A body is cut at its marks once; a request only joins the pieces. */
function senderOf({ path, template }) {
  const [toggledHead, ...toggledRest] = template.split(TOGGLE_MARK).map((part) => part.split(COUNTER_MARK));
  let toggle = 0;
  const bodyOf = (number) => {
    toggle = 1 - toggle;
    let body = toggledHead.join(number);
    for (const part of toggledRest) body += TOGGLED[toggle] + part.join(number);
    return body;
  };
  return { path, bodyOf };
}

class OneAnswer {
  constructor(tally, next) {
    this.tally = tally;
    this.next = next;
    this.isOk = false;
    this.hasOkStatus = false;
    this.startedAtMs = performance.now();
  }

  onRequestStart() {}

  onResponseStart(_controller, statusCode) {
    this.isOk = statusCode === 200;
  }

  onResponseData(_controller, chunk) {
    if (!this.hasOkStatus) this.hasOkStatus = chunk.includes(OK_STATUS);
  }

  onResponseEnd() {
    this.tally.latenciesMs.push(performance.now() - this.startedAtMs);
    if (!this.isOk || !this.hasOkStatus) this.tally.unexpected += 1;
    this.next();
  }

  onResponseError(_controller, error) {
    this.tally.unexpected += 1;
    this.tally.lastError = String(error);
    this.next();
  }
}

async function run({ url, inFlight, durationMs }) {
  const pool = new Pool(url, { connections: inFlight, pipelining: 1 });
  const tally = { latenciesMs: [], unexpected: 0, lastError: null };
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + durationMs;
  const one = () =>
    new Promise((resolve) => {
      const next = () => {
        if (performance.now() >= endsAtMs) {
          resolve();
          return;
        }
        counter += 1;
        const { path, bodyOf } = senders[counter % senders.length];
        const request = { path, method: 'POST', headers: HEADERS, body: bodyOf(String(counter)) };
        pool.dispatch(request, new OneAnswer(tally, next));
      };
      next();
    });
  await Promise.all(Array.from({ length: inFlight }, one));
  const elapsedMs = performance.now() - startedAtMs;
  await pool.close();
  return summaryOf(tally, elapsedMs);
}

function summaryOf({ latenciesMs, unexpected, lastError }, elapsedMs) {
  const sorted = Float64Array.from(latenciesMs).sort();
  const at = (fraction) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0;
  const count = sorted.length;
  return {
    count,
    unexpected,
    lastError,
    elapsedMs,
    perSecond: (count / elapsedMs) * 1_000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

serve({
  prepare: ({ requests }) => {
    senders = requests.map(senderOf);
    return senders.length;
  },
  run,
});
