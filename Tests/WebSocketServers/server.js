// A WebSocket server over Node's http, https and http2 for the tests: the upgrade and the extended CONNECT are Node's, the frames
// are here.
//
// /echo                  sends every message back
// /fragments/N           the same in fragments of N octets
// /close/CODE/REASON     closes with that code and reason after the first message
// /drop                  ends the connection without a close frame after the first message
//
// Messages are compressed if the client offers it, each on its own.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const zlib = require('zlib');

const [port, certificate, key, version] = process.argv.slice(2);

// `opcode` may have RSV1.
function frame(opcode, payload, isFinal = true) {
    const first = (isFinal ? 0x80 : 0) | opcode;
    let header;
    if (payload.length < 126) {
        header = Buffer.from([first, payload.length]);
    } else if (payload.length < 65536) {
        header = Buffer.from([first, 126, payload.length >> 8, payload.length & 0xff]);
    } else {
        header = Buffer.alloc(10);
        header[0] = first;
        header[1] = 127;
        header.writeBigUInt64BE(BigInt(payload.length), 2);
    }
    return Buffer.concat([header, payload]);
}

function unmask(payload, mask) {
    for (let index = 0; index < payload.length; index++) payload[index] ^= mask[index & 3];
    return payload;
}

// Calls `receive` with each frame of a stream.
function readFrames(socket, head, receive) {
    let pieces = head.length ? [head] : [];
    let available = head.length;
    let needed = 2;
    const take = (chunk) => {
        if (chunk) {
            pieces.push(chunk);
            available += chunk.length;
        }
        while (available >= needed) {
            const octets = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
            pieces = [octets];
            const short = octets[1] & 0x7f;
            const start = 6 + (short === 126 ? 2 : short === 127 ? 8 : 0);
            needed = start;
            if (available < needed) return;
            const length =
                short === 126 ? octets.readUInt16BE(2) : short === 127 ? Number(octets.readBigUInt64BE(2)) : short;
            needed = start + length;
            if (available < needed) return;
            const payload = unmask(Buffer.from(octets.subarray(start, needed)), octets.subarray(start - 4, start));
            pieces = [octets.subarray(needed)];
            available -= needed;
            needed = 2;
            receive(octets[0], payload);
        }
    };
    socket.on('data', take);
    take();
}

const compressed = 0x40;
const flushMarker = Buffer.from([0, 0, 0xff, 0xff]);
const flushed = { finishFlush: zlib.constants.Z_SYNC_FLUSH };

const deflate = (message) => {
    const octets = zlib.deflateRawSync(message, flushed);
    return octets.subarray(-4).equals(flushMarker) ? octets.subarray(0, -4) : octets;
};

const inflate = (octets) => zlib.inflateRawSync(Buffer.concat([octets, flushMarker]), flushed);

// The answer to the fields of a request.
function extensions(fields) {
    const isOffered = (fields['sec-websocket-extensions'] || '').startsWith('permessage-deflate');
    return isOffered ? 'permessage-deflate; server_no_context_takeover; client_no_context_takeover' : null;
}

function serve(request, socket, head) {
    const accept = crypto.createHash('sha1')
        .update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
    const chosen = extensions(request.headers);
    socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\n` +
        (chosen ? `Sec-WebSocket-Extensions: ${chosen}\r\n` : '') + '\r\n');
    socket.setNoDelay(true);
    serveFrames(request.url, socket, head, chosen !== null);
}

function serveFrames(path, socket, head, compresses) {
    socket.on('error', () => socket.destroy());
    const words = path.split('/').slice(1);
    const size = words[0] === 'fragments' ? Number(words[1]) : Infinity;
    let kind = 0;
    let isCompressed = false;
    let message = [];
    let hasClosed = false;
    readFrames(socket, head, (first, payload) => {
        const opcode = first & 0x0f;
        if (opcode === 9) return socket.write(frame(10, payload));
        if (opcode === 10) return undefined;
        if (opcode === 8) {
            if (!hasClosed) socket.write(frame(8, payload));
            hasClosed = true;
            return socket.end();
        }
        if (opcode) {
            kind = opcode;
            isCompressed = (first & compressed) !== 0;
        }
        message.push(payload);
        if (!(first & 0x80)) return undefined;
        const received = Buffer.concat(message);
        message = [];
        if (words[0] === 'drop') return socket.end();
        if (words[0] === 'close') {
            hasClosed = true;
            const code = Buffer.from([Number(words[1]) >> 8, Number(words[1]) & 0xff]);
            return socket.write(frame(8, Buffer.concat([code, Buffer.from(words[2] || '')])));
        }
        const content = isCompressed ? inflate(received) : received;
        const whole = compresses ? deflate(content) : content;
        const bits = kind | (compresses ? compressed : 0);
        if (whole.length <= size) return socket.write(frame(bits, whole));
        for (let start = 0; start < whole.length; start += size) {
            const end = Math.min(start + size, whole.length);
            socket.write(frame(start ? 0 : bits, whole.subarray(start, end), end === whole.length));
        }
        return undefined;
    });
}

const options = certificate ? { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) } : {};
if (version === 'http2') {
    const http2 = require('http2');
    const server = http2.createSecureServer({ ...options, settings: { enableConnectProtocol: true } });
    server.on('stream', (stream, fields) => {
        const isWebSocket = fields[':method'] === 'CONNECT' && fields[':protocol'] === 'websocket';
        const chosen = isWebSocket ? extensions(fields) : null;
        stream.respond({
            ':status': isWebSocket || fields[':method'] !== 'CONNECT' ? 200 : 501,
            ...(chosen ? { 'sec-websocket-extensions': chosen } : {}),
        });
        if (!isWebSocket) return stream.end(fields[':method']);
        return serveFrames(fields[':path'], stream, Buffer.alloc(0), chosen !== null);
    });
    server.listen(Number(port), '127.0.0.1');
    return;
}
const server = require(certificate ? 'https' : 'http').createServer(options, (request, response) => {
    response.statusCode = 426;
    response.end();
});
server.on('upgrade', serve);
server.listen(Number(port), '127.0.0.1');
