internal import LoadingConnections
internal import LoadingSemantics

extension HTTPURL {
    var origin: Origin { Origin(isSecure: scheme.isSecure, host: host, port: port) }
}
