internal import LoadingSemantics
internal import LoadingTransport

extension SessionValues {
    /// The network requirements of a request, with those of the session as defaults (C-9, C-20, C-29).
    ///
    /// Inlined, because a call copies the session's values.
    @inline(__always)
    func networkService(of request: URLRequest) -> NetworkService {
        var service = networkService
        if request.networkServiceType != .default { service.trafficClass = request.networkServiceType.trafficClass }
        if request.requiresDNSSECValidation { service.requiresDNSSEC = true }
        return service
    }

    /// The network requirements of the session.
    @inline(__always)
    var networkService: NetworkService {
        NetworkService(
            trafficClass: networkServiceType.trafficClass, isMultipath: multipathServiceType != .none,
            requiresDNSSEC: requiresDNSSECValidation)
    }
}

extension NSURLRequest.NetworkServiceType {
    /// The traffic class (RFC 4594, RFC 8622).
    var trafficClass: UInt8 {
        switch self {
        case .default: 0
        // Lower effort.
        case .background: 1
        // Low-latency data: AF21.
        case .responsiveData: 18
        // Multimedia streaming: AF31.
        case .avStreaming, .video: 26
        // Interactive video: AF41.
        case .responsiveAV: 34
        // Signaling: CS5.
        case .callSignaling, .voip: 40
        // Telephony: EF.
        case .voice: 46
        }
    }
}

extension TLSConfiguration {
    /// The TLS configuration of a session's connections (C-19, TLS-11, CONN-2).
    init(_ session: SessionValues) {
        self.init()
        minimumVersion = TLSVersion(rawValue: session.tlsMinimumSupportedProtocolVersion.rawValue)
        maximumVersion = TLSVersion(rawValue: session.tlsMaximumSupportedProtocolVersion.rawValue)
        applicationProtocols =
            switch session.requiredHTTPVersion {
            case .http2: ["h2"]
            case .http10, .http11: ["http/1.1"]
            case .http3, nil: ["h2", "http/1.1"]
            }
        if !session.additionalAuthorities.isEmpty {
            roots = .systemAnd(session.additionalAuthorities.map { .der($0) })
        }
    }
}
