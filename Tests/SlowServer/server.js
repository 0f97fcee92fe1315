// A server over TLS that sends downloads slowly and keeps what was uploaded, for scripts/kill-transfers and scripts/network-away:
//
//     node server.js KEY CERTIFICATE FOLDER SIZE [ADDRESS]
//
// GET /…/NAME is a body of SIZE bytes that follows from NAME, with a validator and by Range, in HTTP/2 or HTTP/1.1. Of PUT, a line for
// each body goes to FOLDER/received: the path, the length and the SHA-256. The port is the line on standard output.
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const http2 = require("http2");

const [key, certificate, folder, length, address] = process.argv.slice(2);
const size = Number(length);
const portion = 20000;

function content(name) {
    const digest = crypto.createHash("sha256").update(name).digest();
    return Buffer.alloc(size, digest);
}

function get(request, response) {
    const body = content(request.url.split("/").pop());
    const tag = `"${crypto.createHash("md5").update(body).digest("hex")}"`;
    const range = /^bytes=(\d+)-$/.exec(request.headers.range || "");
    const start = range && request.headers["if-range"] === tag && Number(range[1]) < size ? Number(range[1]) : 0;
    const fields = { "etag": tag, "accept-ranges": "bytes", "content-length": size - start };
    if (start > 0) fields["content-range"] = `bytes ${start}-${size - 1}/${size}`;
    response.writeHead(start > 0 ? 206 : 200, fields);
    let place = start;
    const next = () => {
        if (response.destroyed || response.stream && response.stream.destroyed) return;
        if (place >= size) return response.end();
        response.write(body.subarray(place, place + portion));
        place += portion;
        setTimeout(next, 10);
    };
    next();
}

function put(request, response) {
    const hash = crypto.createHash("sha256");
    let count = 0;
    request.on("data", (data) => { hash.update(data); count += data.length; });
    request.on("end", () => setTimeout(() => {
        if (count !== Number(request.headers["content-length"])) return;
        fs.appendFileSync(`${folder}/received`, `${request.url} ${count} ${hash.digest("hex")}\n`);
        response.writeHead(200, { "content-length": 2 });
        response.end("ok");
    }, 50));
}

const server = http2.createSecureServer(
    { key: fs.readFileSync(key), cert: fs.readFileSync(certificate), allowHTTP1: true },
    (request, response) => {
        request.on("error", () => {});
        response.on("error", () => {});
        if (request.method === "PUT") put(request, response); else get(request, response);
    });
server.on("sessionError", () => {});
server.on("clientError", (_, socket) => socket.destroy());
server.listen(0, address || "127.0.0.1", () => console.log(server.address().port));
