internal import Foundation
internal import LoadingSemantics
internal import LoadingTransport

/// Faults of a certificate chain to ignore. They apply to one leaf certificate; a host name mismatch applies only to
/// the requested name. Other faults are not ignored.
struct SecTrustExceptions {
    /// A fault and its position in the chain, counted from the leaf.
    private struct Exception: Equatable {
        let verifyCode: Int32
        let depth: Int32

        init(verifyCode: Int32, depth: Int32) { (self.verifyCode, self.depth) = (verifyCode, depth) }

        init(_ fault: TrustFault) {
            self.init(verifyCode: fault.error.verifyCode, depth: Int32(clamping: fault.depth))
        }
    }

    private let exceptions: [Exception]
    /// The hash of the leaf.
    private let certificate: [UInt8]
    /// The hash of the requested names; empty if a name mismatch is not excepted.
    private let names: [UInt8]

    /// The codes of name mismatches: X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
    private static let wrongNames: Set<Int32> = [62, 64]
    private static let hashLength = 32

    /// Nil if there are no faults, or if one cannot be excepted.
    ///
    /// - Parameter names: The host names that the certificate must match.
    init?(_ outcome: SecTrust.Outcome, of certificate: SecCertificate?, for names: [String]) {
        guard let certificate, !outcome.faults.isEmpty, !outcome.faults.contains(where: \.isFatal) else { return nil }
        exceptions = outcome.faults.map { Exception($0) }
        guard let leaf = Self.hash(certificate), let asked = Self.hash(names) else { return nil }
        self.certificate = leaf
        self.names = Self.haveWrongName(exceptions) ? asked : []
    }

    /// Decodes the format of `encoded`.
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
        guard rest.count == Self.hashLength * (Self.haveWrongName(exceptions) ? 2 : 1) else { return nil }
        certificate = Array(rest.prefix(Self.hashLength))
        names = Array(rest.dropFirst(Self.hashLength))
    }

    /// The number of faults and each fault, as 32-bit big-endian integers, then the hashes.
    var encoded: Data {
        let numbers = [Int32(clamping: exceptions.count)] + exceptions.flatMap { [$0.verifyCode, $0.depth] }
        let bytes = numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
        return Data(bytes + certificate + names)
    }

    private static let encodedLength = 8

    func cover(_ fault: TrustFault, of leaf: SecCertificate?, for names: [String]) -> Bool {
        isAbout(leaf) && !fault.isFatal && exceptions.contains(Exception(fault))
            && (!Self.wrongNames.contains(fault.error.verifyCode) || Self.hash(names) == self.names)
    }

    func isAbout(_ leaf: SecCertificate?) -> Bool { leaf.flatMap { Self.hash($0) } == certificate }

    private static func haveWrongName(_ exceptions: [Exception]) -> Bool {
        exceptions.contains { wrongNames.contains($0.verifyCode) }
    }

    private static func hash(_ certificate: SecCertificate) -> [UInt8]? {
        MessageDigest.hash(.sha256, certificate.der)
    }

    private static func hash(_ names: [String]) -> [UInt8]? {
        // Names contain no zero byte, so the separator is unambiguous.
        MessageDigest.hash(.sha256, names.flatMap { Array($0.lowercased().utf8) + [0] })
    }
}
