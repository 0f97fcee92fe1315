internal import Foundation
internal import LoadingSemantics
internal import LoadingTransport

/// What is wrong with a certificate's chain and is to be overlooked, for that certificate alone. Whatever else comes to
/// be wrong is not.
struct SecTrustExceptions {
    /// A fault: what it is, and how far above the leaf.
    private struct Exception: Equatable {
        let verifyCode: Int32
        let depth: Int32

        init(verifyCode: Int32, depth: Int32) { (self.verifyCode, self.depth) = (verifyCode, depth) }

        init(_ fault: TrustFault) {
            self.init(verifyCode: fault.error.verifyCode, depth: Int32(clamping: fault.depth))
        }
    }

    private let exceptions: [Exception]
    private let certificate: [UInt8]

    /// Nil if there is nothing to overlook, or something that must not be.
    init?(_ outcome: SecTrust.Outcome, of certificate: SecCertificate?) {
        guard let certificate, !outcome.faults.isEmpty, !outcome.faults.contains(where: \.isFatal) else { return nil }
        exceptions = outcome.faults.map { Exception($0) }
        self.certificate = Self.fingerprint(of: certificate)
    }

    /// Reads what `encoded` wrote.
    init?(_ data: Data) {
        var rest = [UInt8](data)[...]
        func number() -> Int32? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reduce(0) { $0 << 8 | Int32($1) }
        }
        guard let count = number(), count > 0, count <= rest.count / Self.encodedLength else { return nil }
        var exceptions: [Exception] = []
        for _ in 0..<count {
            guard let code = number(), let depth = number() else { return nil }
            exceptions.append(Exception(verifyCode: code, depth: depth))
        }
        self.exceptions = exceptions
        certificate = Array(rest)
    }

    /// How many there are, each, and whose: numbers of four bytes, the highest byte first.
    var encoded: Data {
        let numbers = [Int32(clamping: exceptions.count)] + exceptions.flatMap { [$0.verifyCode, $0.depth] }
        let bytes = numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
        return Data(bytes + certificate)
    }

    private static let encodedLength = 8

    func cover(_ fault: TrustFault, of leaf: SecCertificate?) -> Bool {
        isAbout(leaf) && !fault.isFatal && exceptions.contains(Exception(fault))
    }

    func isAbout(_ leaf: SecCertificate?) -> Bool { leaf.map { Self.fingerprint(of: $0) } == certificate }

    private static func fingerprint(of certificate: SecCertificate) -> [UInt8] {
        MessageDigest.hash(.sha256, certificate.der) ?? certificate.der
    }
}
