/// Switches that need or exclude each other.
extension Arguments {
    /// Refuses what would be ignored, for every command. Called after the command has refused what it does not take.
    func settleCombinations() throws(UsageError) {
        try settleProxy()
        try settleSocket()
        try settleCertificate()
        try settleTLSVersions()
        // That of the default file is replaced.
        if given.contains(.session), given.contains(.sessionReadOnly) {
            throw UsageError("--session and --session-read-only exclude each other")
        }
        if request.harIncludesSecrets, request.harPath == nil {
            throw UsageError("--har-with-secrets needs --har FILE")
        }
    }

    private func settleProxy() throws(UsageError) {
        guard let proxy = request.network.proxy, !proxy.isEmpty else {
            if request.network.proxyUser != nil { throw UsageError("-U needs the proxy: -x URL") }
            return
        }
        // They would redirect the connection to the proxy, with its password.
        let redirecting: [CommandOption] = [.unixSocket, .abstractUnixSocket, .connectTo, .resolve]
        for option in redirecting where used.contains(option) {
            throw UsageError("-x and --\(option.long) exclude each other")
        }
    }

    /// Through a local socket no host has another address or another name.
    private func settleSocket() throws(UsageError) {
        let sockets: [CommandOption] = [.unixSocket, .abstractUnixSocket]
        guard let socket = sockets.first(where: used.contains) else { return }
        let isGiven = sockets.contains(where: given.contains)
        for option in [CommandOption.resolve, .connectTo] where isGiven ? given.contains(option) : used.contains(option)
        {
            throw UsageError("--\(socket.long) and --\(option.long) exclude each other")
        }
    }

    private func settleCertificate() throws(UsageError) {
        guard request.certificate == nil else { return }
        if request.key != nil { throw UsageError("--key needs the certificate: --cert FILE") }
        if request.keyPassword != nil { throw UsageError("--pass needs the certificate: --cert FILE") }
    }

    private func settleTLSVersions() throws(UsageError) {
        guard let most = request.maximumTLS, most < request.minimumTLS ?? .tls12 else { return }
        throw UsageError(
            request.minimumTLS == nil
                ? "--tls-max \(most.rawValue) needs --tls-min: TLS 1.2 is the lowest by default"
                : "--tls-max is lower than --tls-min")
    }
}
