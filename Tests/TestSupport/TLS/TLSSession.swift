internal import CTestTLS

/// The result of a handshake.
package struct TLSHandshake: Sendable, Equatable {
    /// `TLSv1.2` or `TLSv1.3`.
    package let version: String
    package let cipher: String
    /// The SNI name.
    package let serverName: String?
    package let applicationProtocol: String?
    package let wasResumed: Bool
    package let clientCertificate: TestCertificate?
}

/// One TLS connection on memory buffers. The caller transfers the bytes.
final class TLSSession {
    enum Progress: Equatable {
        case done
        case wantsInput
        case closedByClient
    }

    private let session: OpaquePointer
    /// The C server is used by the session until it ends.
    private let server: TLSServer

    init(_ session: OpaquePointer, of server: TLSServer) {
        self.session = session
        self.server = server
    }

    deinit {
        ctt_session_free(session)
    }

    private func progress(_ operation: String, _ result: ctt_result) throws -> Progress {
        switch result {
        case CTT_DONE: return .done
        case CTT_WANTS_INPUT: return .wantsInput
        case CTT_CLOSED: return .closedByClient
        default: throw OpenSSLError(operation)
        }
    }

    func handshake() throws -> Progress {
        try progress("handshake", ctt_session_handshake(session))
    }

    /// Adds bytes received from the client.
    func receive(_ bytes: [UInt8]) throws {
        guard ctt_session_receive(session, bytes, bytes.count) == 1 else { throw OpenSSLError("take the input") }
    }

    /// The bytes to send to the client.
    func takeOutput() -> [UInt8] {
        var output: [UInt8] = []
        while true {
            let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                count = ctt_session_take(session, buffer.baseAddress, buffer.count)
            }
            if piece.isEmpty { return output }
            output += piece
        }
    }

    func read() throws -> (Progress, [UInt8]) {
        var result = CTT_FAILED
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            var read = 0
            result = ctt_session_read(session, buffer.baseAddress, buffer.count, &read)
            count = result == CTT_DONE ? read : 0
        }
        return (try progress("read", result), bytes)
    }

    func write(_ bytes: ArraySlice<UInt8>) throws {
        let result = bytes.withUnsafeBufferPointer { ctt_session_write(session, $0.baseAddress, $0.count) }
        _ = try progress("write", result)
    }

    func closeNotify() {
        ctt_session_close_notify(session)
    }

    func requestCertificate() throws {
        guard ctt_session_request_certificate(session) == 1 else { throw OpenSSLError("ask for a certificate") }
    }

    func updateKey() throws {
        guard ctt_session_update_key(session) == 1 else { throw OpenSSLError("update the key") }
    }

    func renegotiate() throws {
        guard ctt_session_renegotiate(session) == 1 else { throw OpenSSLError("ask for another handshake") }
    }

    var outcome: TLSHandshake {
        let protocolName = String(
            decoding: [UInt8](unsafeUninitializedCapacity: 255) { buffer, count in
                count = ctt_session_protocol(session, buffer.baseAddress, buffer.count)
            }, as: UTF8.self)
        let certificate = ctt_session_client_certificate(session)
        defer { ctt_bytes_free(certificate) }
        return TLSHandshake(
            version: String(cString: ctt_session_version(session)),
            cipher: String(cString: ctt_session_cipher(session)),
            serverName: ctt_session_server_name(session).map { String(cString: $0) },
            applicationProtocol: protocolName.isEmpty ? nil : protocolName,
            wasResumed: ctt_session_was_resumed(session) == 1,
            clientCertificate: certificate.count == 0
                ? nil
                : TestCertificate(
                    der: Array(UnsafeBufferPointer(start: certificate.bytes, count: certificate.count))))
    }
}
