// The Node peer: the built-in http and https modules with a keep-alive agent, and http2 with one session.
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { parseArgs } from 'node:util';

const text = (value) => ({ type: 'string', default: value });
const { values } = parseArgs({
  options: {
    url: text(''), requests: text('1'), concurrency: text('1'), connections: text('1'), body: text('100'),
    file: text(''), upload: text(''), version: text('1'), package: text(''),
  },
});
const requests = Number(values.requests);
const concurrency = Math.min(Number(values.concurrency), requests);
const body = Number(values.body);

const timeBefore = process.hrtime.bigint();
const before = process.cpuUsage();
const totals = { requests: 0, bytes: 0, errors: 0 };
const library = values.url.startsWith('https:') ? https : http;
const url = new URL(values.url);
const isWebSocket = url.protocol.startsWith('ws');
const agent = new library.Agent({
  keepAlive: true, maxSockets: Number(values.connections), maxFreeSockets: Number(values.connections),
});
const session = values.version === '2' ? connect() : null;
let started = 0;

// What a session of http2 begins with is 64 KiB for each stream and for all of them: a pipe that nobody would keep.
function connect() {
  const window = 16 * 1024 * 1024;
  const connected = http2.connect(url.origin, { settings: { initialWindowSize: window } });
  connected.on('connect', () => connected.setLocalWindowSize(window));
  connected.on('error', () => process.exit(1));
  return connected;
}

function ended(status, bytes) {
  totals.requests += 1;
  totals.bytes += bytes;
  if (status !== 200 || bytes !== body) totals.errors += 1;
  if (started < requests) start();
  else if (totals.requests === requests) report();
}

function startStream() {
  const method = values.upload ? 'POST' : 'GET';
  const stream = session.request({ ':path': url.pathname, ':method': method }, { endStream: !values.upload });
  let received = 0;
  let status = 0;
  stream.on('response', (headers) => { status = headers[':status']; });
  stream.on('data', (chunk) => { received += chunk.length; });
  stream.on('error', () => ended(0, received));
  stream.on('end', () => ended(status, received));
  if (values.upload) fs.createReadStream(values.upload).pipe(stream);
}

function start() {
  started += 1;
  if (session) {
    startStream();
    return;
  }
  const request = library.get(url, { agent }, (response) => {
    let received = 0;
    response.on('data', (chunk) => { received += chunk.length; });
    response.on('error', () => ended(0, received));
    if (values.file) {
      response.pipe(fs.createWriteStream(values.file)).on('close', () => ended(response.statusCode, received));
    } else {
      response.on('end', () => ended(response.statusCode, received));
    }
  });
  request.on('error', () => ended(0, 0));
}

// maxrss survives exec and so may tell the driver's size; VmHWM belongs to this program alone.
function peakResidentKilobytes() {
  return Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'latin1'))[1]);
}

function report() {
  const work = process.cpuUsage(before);
  const whole = process.cpuUsage();
  fs.writeSync(1, JSON.stringify({
    requests: totals.requests,
    bytes: totals.bytes,
    seconds: Number(process.hrtime.bigint() - timeBefore) / 1e9,
    cpu_user: work.user / 1e6,
    cpu_sys: work.system / 1e6,
    process_cpu_user: whole.user / 1e6,
    process_cpu_sys: whole.system / 1e6,
    peak_rss_kb: peakResidentKilobytes(),
    errors: totals.errors,
  }) + '\n');
  process.exit(totals.errors === 0 ? 0 : 1);
}

// Of the package when there is one, else what Node has itself. Each connection keeps its share of the messages on their way.
async function echo() {
  const Connection = values.package ? (await import(values.package)).default : WebSocket;
  const payload = new Uint8Array(body);
  const connections = Number(values.connections);
  for (let index = 0; index < connections; index += 1) {
    const connection = new Connection(values.url);
    connection.binaryType = 'arraybuffer';
    let waiting = 0;
    const send = () => {
      while (waiting < concurrency / connections && started < requests) {
        started += 1;
        waiting += 1;
        connection.send(payload);
      }
    };
    connection.onopen = send;
    connection.onerror = () => process.exit(1);
    connection.onmessage = ({ data }) => {
      waiting -= 1;
      totals.requests += 1;
      totals.bytes += data.byteLength;
      if (data.byteLength !== body) totals.errors += 1;
      send();
      if (totals.requests === requests) report();
    };
  }
}

if (isWebSocket) echo();
else for (let index = 0; index < concurrency; index += 1) start();
