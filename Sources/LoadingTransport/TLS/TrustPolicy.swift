internal import CLoadingTLS

/// The requirements for a certificate chain.
package struct TrustPolicy: Sendable {
    package enum Purpose: Sendable {
        case any
        case server
        case client

        var number: clt_purpose {
            switch self {
            case .any: CLT_ANY_PURPOSE
            case .server: CLT_TLS_SERVER
            case .client: CLT_TLS_CLIENT
            }
        }
    }

    package var purpose: Purpose
    /// The host that the leaf must match; nil if names are not checked.
    package var host: String?
    /// In seconds since 1970.
    package var time: Int64
    /// An OCSP response for the leaf; empty if there is none.
    package var response: [UInt8]
    /// Whether trust requires an OCSP response with the status "good".
    package var needsGoodResponse: Bool

    package init(
        purpose: Purpose, host: String?, time: Int64, response: [UInt8] = [], needsGoodResponse: Bool = false
    ) {
        self.purpose = purpose
        self.host = host
        self.time = time
        self.response = response
        self.needsGoodResponse = needsGoodResponse
    }

    /// The host without the brackets of an IPv6 address.
    var bareHost: String? {
        host.map { $0.hasPrefix("[") && $0.hasSuffix("]") ? String($0.dropFirst().dropLast()) : $0 }
    }

    /// Calls `body` with the C representation. Throws if the host is invalid.
    func withCValue<Outcome>(_ body: (inout clt_demand) -> Outcome) throws(TLSError) -> Outcome {
        let serverName = host.map { ServerName(host: $0) }
        if let serverName, serverName == nil {
            throw TLSError(code: TLSError.certificateUntrusted, reason: "invalid host name")
        }
        let (name, address): (String?, [UInt8]) =
            switch serverName ?? nil {
            case .name(let name)?: (name, [])
            case .address(let bytes)?: (nil, bytes)
            case nil: (nil, [])
            }
        func give(_ name: UnsafePointer<CChar>?) -> Outcome {
            address.withUnsafeBufferPointer { address in
                response.withUnsafeBufferPointer { response in
                    var wanted = clt_demand(
                        purpose: purpose.number, names_host: host != nil, name: name, address: address.baseAddress,
                        address_count: address.count, time: time, response: response.baseAddress,
                        response_count: response.count, needs_good_response: needsGoodResponse)
                    return body(&wanted)
                }
            }
        }
        return name.map { $0.withCString { give($0) } } ?? give(nil)
    }
}
