import CBrotli
import CNGHTTP2
import COpenSSL
import CSQLite
import CZlib
import CZstd
import Foundation

public let revisionOfNeighbours = 1

/// A type, and functions for the linker, that others have too.
public final class SecTrust {
    public init() {}
}

@_cdecl("SecTrustEvaluateWithError") public func evaluate() -> Bool { true }

@_cdecl("SecCertificateCreateWithData") public func create() -> Bool { true }

public func neighbours() -> Int32 {
    cbrotli_of_neighbour() + cnghttp2_of_neighbour() + copenssl_of_neighbour() + csqlite_of_neighbour()
        + czlib_of_neighbour() + czstd_of_neighbour()
}
