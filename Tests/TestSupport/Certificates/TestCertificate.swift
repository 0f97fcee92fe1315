/// An X.509 certificate.
package struct TestCertificate: Sendable, Hashable {
    package let der: [UInt8]

    package init(der: [UInt8]) {
        self.der = der
    }

    package var pem: String { PEM.encode(der, label: "CERTIFICATE") }
}
