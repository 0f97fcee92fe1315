import Foundation
import URLLoading

/// What is said to the challenges of a connection: whom the command line trusts, and as whom it is known.
struct SecurityAnswers: Sendable {
    private let isInsecure: Bool
    private let anchors: [SecCertificate]?
    private let pins: Set<Data>
    private let credential: URLCredential?

    enum TrustAnswer {
        case defaultHandling
        case trust
        /// The authorities that are trusted do not vouch for the server, for that reason.
        case distrust(CFError?)
        /// The server has another key than the command line says.
        case otherKey
    }

    init(_ command: CommandLineRequest) throws(UsageError) {
        isInsecure = command.isInsecure
        anchors = if let path = command.authorityPath { try Self.anchors(path) } else { nil }
        pins = try Self.pins(command.pins)
        credential = if let certificate = command.certificate { try Self.credential(certificate) } else { nil }
    }

    /// What to show to a server that asks for a certificate.
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
            guard let hash = leaf?.publicKeyHash, pins.contains(hash) else { return .otherKey }
        }
        return isInsecure || needsOwnEvaluation ? .trust : .defaultHandling
    }

    // MARK: Reading the command line

    /// `sha256//` and 44 letters of Base64, several joined by semicolons, as curl has it.
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
            throw missingLibrary(path) ?? UsageError("'\(path)' has no certificate in it", exitCode: .readError)
        }
        return anchors
    }

    /// The certificates of a PEM text.
    private static func pemBlocks(_ text: String) -> [Data] {
        text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { block in
            block.range(of: "-----END CERTIFICATE-----").flatMap { end in
                Data(base64Encoded: String(block[..<end.lowerBound]), options: .ignoreUnknownCharacters)
            }
        }
    }

    /// A PKCS #12 archive, or PEM with certificate and key; what follows the last colon is the password, unless it
    /// belongs to the name of a file that is there.
    private static func credential(_ text: String) throws(UsageError) -> URLCredential {
        var path = text
        var password: String?
        if access(path, F_OK) != 0, let colon = text.lastIndex(of: ":") {
            path = String(text[..<colon])
            password = String(text[text.index(after: colon)...])
        }
        let data = try contents(path)
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
                "the password does not open '\(path)': --cert takes FILE:PASSWORD", exitCode: .clientCertificate)
        default:
            if let identity = SecIdentity(pem: data, password: password) {
                return URLCredential(identity: identity, certificates: nil, persistence: .none)
            }
        }
        throw missingLibrary(path)
            ?? UsageError(
                "'\(path)' has no certificate with its private key, or the password is another",
                exitCode: .clientCertificate)
    }

    /// Without OpenSSL nothing is known of what is in the file.
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
