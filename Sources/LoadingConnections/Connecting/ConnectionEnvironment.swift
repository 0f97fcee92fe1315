package import LoadingTransport

/// What the connections of one session have in common.
package struct ConnectionEnvironment {
    package var tls: TLSConfiguration

    package init(tls: TLSConfiguration) { self.tls = tls }
}
