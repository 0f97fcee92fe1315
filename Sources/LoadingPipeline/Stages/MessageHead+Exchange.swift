internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics

extension MessageHead {
    /// The head that a connection sends for a request.
    ///
    /// - Parameter protocolName: The ALPN name of the connection's protocol.
    init(_ request: ExchangeRequest, over protocolName: String) {
        let isHTTP1 = protocolName.hasPrefix("http/1")
        let target =
            switch request.target {
            case .origin(let target): target
            case .absolute(let scheme, let authority, let target): "\(scheme)://\(authority)\(target)"
            case .authority(let authority): authority
            }
        let all = request.fields.asSent + request.defaults.asSent
        var fields = all.filter { $0.name.lowercased() == "host" }
        fields += all.filter { !Self.isFraming($0, isHTTP1: isHTTP1) && $0.name.lowercased() != "host" }
        if let framing = Self.framing(of: request, isHTTP1: isHTTP1) { fields.append(framing) }
        if !isHTTP1 { for index in fields.indices { fields[index].name = fields[index].name.lowercased() } }
        self.init(
            .request(method: request.method, target: target), version: Self.version(ofProtocol: protocolName),
            fields: fields)
    }

    /// The CONNECT request to a proxy that opens a tunnel.
    init(connectTo authority: String, _ fields: HTTPFields, round: UInt64) {
        self.init(
            .request(method: "CONNECT", target: authority), version: Self.version(ofProtocol: "http/1.1"),
            fields: fields.asSent)
        tunnelRound = round
    }

    init(_ head: ResponseHead) {
        let version =
            switch head.version {
            case .http10: "HTTP/1.0"
            case .http11: "HTTP/1.1"
            case .http2: "HTTP/2"
            case .http3: "HTTP/3"
            }
        self.init(
            .response(status: head.status, reason: head.reason), version: version, fields: head.fields.asSent)
    }

    /// Whether the connection replaces this field of the request by its own.
    private static func isFraming(_ field: Field, isHTTP1: Bool) -> Bool {
        switch field.name.lowercased() {
        case "content-length", "transfer-encoding": true
        case "connection", "keep-alive", "proxy-connection", "upgrade": !isHTTP1
        case "te": !isHTTP1 && field.value.lowercased() != "trailers"
        default: false
        }
    }

    private static func framing(of request: ExchangeRequest, isHTTP1: Bool) -> Field? {
        switch request.body.framing {
        case .none: ["POST", "PUT", "PATCH"].contains(request.method) ? Field("Content-Length", "0") : nil
        case .known(let length): Field("Content-Length", "\(length)")
        case .chunked: isHTTP1 ? Field("Transfer-Encoding", "chunked") : nil
        }
    }
}

extension HTTPFields {
    fileprivate var asSent: [MessageHead.Field] {
        (0..<count).map { MessageHead.Field(name(at: $0), value(at: $0)) }
    }
}
