import Foundation
import URLLoading

/// Answers the challenges of a TLS handshake: server trust (`-k`, `--cacert`, `--pin`) and client certificate
/// (`--cert`).
struct TLSChallengeResponder: Sendable {
    private let isInsecure: Bool
    private let anchors: [SecCertificate]?
    private let pins: Set<Data>
    private let credential: URLCredential?

    enum TrustAnswer {
        case defaultHandling
        case trust
        /// The chain does not lead to an authority of `--cacert`. The value is the reason.
        case distrust(CFError?)
        /// The server's public key matches no `--pin`.
        case pinMismatch
    }

    init(_ command: CommandLineRequest) throws(UsageError) {
        isInsecure = command.isInsecure
        anchors = if let path = command.authorityPath { try Self.anchors(path) } else { nil }
        pins = try Self.pins(command.pins)
        credential = if let certificate = command.certificate { try Self.credential(certificate, command) } else { nil }
    }

    /// The certificate of `--cert`, for servers that request a client certificate.
    var clientCredential: URLCredential? { credential }

    func answer(to trust: SecTrust) -> TrustAnswer {
        if let anchors { _ = SecTrustSetAnchorCertificates(trust, anchors as CFArray) }
        let needsOwnEvaluation = anchors != nil || !pins.isEmpty
        var error: CFError?
        if !isInsecure, needsOwnEvaluation, !SecTrustEvaluateWithError(trust, &error) {
            return anchors == nil ? .defaultHandling : .distrust(error)
        }
        if !pins.isEmpty {
            let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first
            guard let hash = leaf?.publicKeyHash, pins.contains(hash) else { return .pinMismatch }
        }
        return isInsecure || needsOwnEvaluation ? .trust : .defaultHandling
    }

    // MARK: Reading the command line

    /// `sha256//` and 44 Base64 characters; several are separated by semicolons, as in curl's `--pinnedpubkey`.
    private static func pins(_ texts: [String]) throws(UsageError) -> Set<Data> {
        var pins: Set<Data> = []
        for text in texts.flatMap({ $0.split(separator: ";", omittingEmptySubsequences: false) }) {
            let prefix = "sha256//"
            guard text.hasPrefix(prefix), let hash = Data(base64Encoded: String(text.dropFirst(prefix.count))),
                hash.count == 32
            else { throw UsageError("--pin needs sha256//BASE64 of a SHA-256 hash, not '\(text)'") }
            pins.insert(hash)
        }
        return pins
    }

    private static func anchors(_ path: String) throws(UsageError) -> [SecCertificate] {
        let data = try contents(path)
        let blocks = pemBlocks(String(decoding: data, as: UTF8.self))
        let anchors = (blocks.isEmpty ? [data] : blocks).compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
        guard !anchors.isEmpty else {
            throw missingLibrary(path) ?? UsageError("'\(path)' contains no certificate", exitCode: .readError)
        }
        return anchors
    }

    private static func pem(_ certificate: Data) -> String {
        "-----BEGIN CERTIFICATE-----\n\(certificate.base64EncodedString(options: .lineLength64Characters))\n"
            + "-----END CERTIFICATE-----\n"
    }

    /// The certificates of a PEM text.
    private static func pemBlocks(_ text: String) -> [Data] {
        text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { block in
            block.range(of: "-----END CERTIFICATE-----").flatMap { end in
                Data(base64Encoded: String(block[..<end.lowerBound]), options: .ignoreUnknownCharacters)
            }
        }
    }

    /// Reads a PKCS #12 archive, or PEM with certificate and key. The text after the last colon is the password, unless
    /// the whole text is the path of an existing file.
    private static func credential(
        _ text: String, _ command: CommandLineRequest
    ) throws(UsageError) -> URLCredential {
        var path = text
        var password = command.keyPassword
        if access(path, F_OK) != 0, let colon = text.lastIndex(of: ":") {
            guard password == nil else {
                throw UsageError("--pass and the password in --cert exclude each other")
            }
            path = String(text[..<colon])
            password = String(text[text.index(after: colon)...])
        }
        var data = try contents(path)
        if let key = command.key {
            let certificate = String(decoding: data, as: UTF8.self)
            guard certificate.contains("-----BEGIN CERTIFICATE-----") else {
                throw UsageError(
                    "--key goes with a certificate in PEM, and '\(path)' is none", exitCode: .clientCertificate)
            }
            // The key of the other file counts, whatever the first one contains.
            data = Data(pemBlocks(certificate).map(pem).joined().utf8) + (try contents(key))
        }
        var items: CFArray?
        let options = [kSecImportExportPassphrase as String: password ?? ""] as CFDictionary
        switch SecPKCS12Import(data as CFData, options, &items) {
        case errSecSuccess:
            let item = (items as? [[String: Any]])?.first
            if let identity = item?[kSecImportItemIdentity as String] as? SecIdentity {
                return URLCredential(identity: identity, certificates: nil, persistence: .none)
            }
        case errSecAuthFailed:
            throw UsageError(
                "wrong password for '\(path)': --cert takes FILE:PASSWORD", exitCode: .clientCertificate)
        case errSecUnsupportedFormat:
            throw UsageError(
                "cannot decrypt '\(path)': RC2, RC4 and DES need OpenSSL's legacy module", exitCode: .clientCertificate)
        default:
            if let identity = SecIdentity(pem: data, password: password) {
                return URLCredential(identity: identity, certificates: nil, persistence: .none)
            }
        }
        throw missingLibrary(path)
            ?? UsageError(
                "'\(path)' contains no certificate with its private key, or the password is wrong",
                exitCode: .clientCertificate)
    }

    /// The error to report if OpenSSL could not be loaded: then no file can be read, whatever it contains.
    private static func missingLibrary(_ path: String) -> UsageError? {
        SecCertificate.libraryFailure.map {
            UsageError("cannot read certificates in '\(path)' (\($0)): install that library", exitCode: .tlsHandshake)
        }
    }

    private static func contents(_ path: String) throws(UsageError) -> Data {
        do {
            return try FileContents.readAll(path)
        } catch {
            throw UsageError("cannot read '\(path)': \(error.reason)", exitCode: .readError)
        }
    }
}
