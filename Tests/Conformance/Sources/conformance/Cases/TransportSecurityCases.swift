import Foundation
import FoundationNetworking

/// Ends the server with this process.
private let lifeline = Pipe()

/// `openssl s_server` with a certificate that it has signed itself.
private func untrustedServer() async throws -> URL {
    let port = try unwrap(try refusedURL().port, "port")
    let script = """
        openssl req -x509 -newkey rsa:2048 -nodes -days 10 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \\
            -keyout key.pem -out certificate.pem || exit 1
        openssl s_server -accept 127.0.0.1:\(port) -www -key key.pem -cert certificate.pem </dev/null &
        cat; kill $!
        """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script]
    process.currentDirectoryURL = FileManager.default.temporaryDirectory
    process.standardInput = lifeline
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    await until { isListening(port) || !process.isRunning }
    try check(process.isRunning, "openssl could not be started")
    return try unwrap(URL(string: "https://127.0.0.1:\(port)/"), "URL")
}

// `NSURLErrorServerCertificateUntrusted` and its neighbours have wrong values in the toolchain's Foundation.
let transportSecurityCases: [Case] = [
    Case("TLS-4", "TLS-5", name: "a self-signed certificate is -1202") {
        try equal(
            await makeSession().load(try await untrustedServer()).code,
            URLError.Code.serverCertificateUntrusted.rawValue, "error")
    },
    Case("TLS-6", "S-54", name: "server trust is a challenge of the session, and cancelling it is -999") {
        let recorder = Recorder { $0.sessionChallenge = { _ in (.cancelAuthenticationChallenge, nil) } }
        await run(try await untrustedServer(), recorder)
        try equal(
            recorder.seen.challenges.map(\.protectionSpace.authenticationMethod),
            ["NSURLAuthenticationMethodServerTrust"],
            "challenges")
        try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    },
    Case("TLS-5", name: "a server without TLS is -1200") {
        let server = try Server { connection, _ in
            _ = try connection.bytes(1)
            try connection.send("HTTP/1.1 400 Bad Request\r\n\r\nthis is not TLS")
        }
        let url = try unwrap(URL(string: "https://127.0.0.1:\(server.port)/"), "URL")
        try equal(await makeSession().load(url).code, URLError.Code.secureConnectionFailed.rawValue, "error")
    },
]
