// BullMQ on Redis: jobs that do nothing, added beforehand; the time to work them off in one process.
// usage: node bullmq_noop.mjs REDIS_URL JOBS CONCURRENCY; prints one JSON object.

import { readFileSync } from 'node:fs';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

const [address, jobs, concurrency] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const connect = () => new Redis(address, { maxRetriesPerRequest: null });
const name = `noop-${process.pid}`;

const queue = new Queue(name, { connection: connect() });
for (let first = 0; first < jobs; first += 1000) {
  const batch = Array.from({ length: Math.min(1000, jobs - first) }, (_, place) => ({
    name: 'noop',
    data: { number: first + place },
  }));
  await queue.addBulk(batch);
}

let done = 0;
let finish;
const finished = new Promise((resolve) => {
  finish = resolve;
});
const worker = new Worker(name, async () => {}, { connection: connect(), concurrency, autorun: false });
worker.on('completed', () => {
  done += 1;
  if (done === jobs) finish();
});
worker.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
await worker.waitUntilReady();

const started = performance.now();
worker.run();
await finished;
const seconds = (performance.now() - started) / 1000;

const { version } = JSON.parse(readFileSync(new URL('../node_modules/bullmq/package.json', import.meta.url)));
console.log(
  JSON.stringify({
    system: 'BullMQ',
    tasks: jobs,
    seconds,
    tasks_per_second: jobs / seconds,
    version,
    durability: 'Redis append-only file, fsync every second',
  }),
);
await worker.close();
await queue.obliterate({ force: true });
await queue.close();
process.exit(0);
