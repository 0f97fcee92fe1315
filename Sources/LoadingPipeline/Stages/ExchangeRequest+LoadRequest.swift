internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics

extension ExchangeRequest {
    /// The request as sent: Host first, the caller's fields, then the session's defaults for fields that the caller has
    /// not set (MISC-1, MISC-6). Without a body.
    init(method: String, url: HTTPURL, own: HTTPFields, defaults environment: LoadingEnvironment) {
        var fields = HTTPFields()
        fields.append("Host", String(decoding: url.authority, as: UTF8.self))
        for index in 0..<own.count {
            let name = own.name(at: index)
            if ReservedFields.treatment(of: name) == .sent { fields.append(name, own.value(at: index)) }
        }
        // `Upgrade` applies to this connection only, so `Connection` must list it (RFC 9110 §7.8).
        if own.contains("Upgrade") { fields.append("Connection", "Upgrade") }
        let isSecure = url.scheme.isSecure
        let all = isSecure ? environment.secureDefaults : environment.clearDefaults
        let defaults = own.isEmpty ? all : all.without(namesOf: fields)
        let lines = isSecure ? environment.secureDefaultLines : environment.clearDefaultLines
        self.init(
            method: method, target: .origin(String(decoding: url.target, as: UTF8.self)),
            fields: fields, defaults: defaults, defaultLines: defaults.count == all.count ? lines : [], body: .none,
            expectsContinue: own.firstValue("Expect")?.lowercased() == "100-continue")
    }
}
