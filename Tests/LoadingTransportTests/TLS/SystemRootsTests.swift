import TestSupport
import Testing

@testable import LoadingTransport

@Suite struct SystemRootsTests {
    private func locate(
        directory: String? = nil, file: String? = nil, hashed: Set<String> = [], files: Set<String> = []
    ) -> SystemRoots {
        SystemRoots.locate(
            directoryVariable: directory, fileVariable: file, isHashedDirectory: hashed.contains,
            isReadableFile: files.contains)
    }

    // TLS-4
    @Test func `a hashed directory comes before a bundle`() {
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        #expect(
            locate(hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/etc/ssl/certs"], files: []))
        #expect(locate(files: [bundle]) == SystemRoots(directories: [], files: [bundle]))
        #expect(locate() == SystemRoots(directories: [], files: []))
    }

    @Test func `the variables replace what is usual`() {
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        #expect(
            locate(directory: "/a:/b", hashed: ["/b", "/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/a", "/b"], files: []))
        #expect(
            locate(directory: "/a", hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/a"], files: [bundle]))
        #expect(
            locate(file: "/my.pem", hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/etc/ssl/certs"], files: ["/my.pem"]))
    }
}

@Suite struct ServerNameTests {
    // TLS-11
    @Test(arguments: [
        ("example.test", ServerName.name("example.test")), ("example.test.", .name("example.test")),
        ("127.0.0.1", .address([127, 0, 0, 1])), ("[::1]", .address([UInt8](repeating: 0, count: 15) + [1])),
        ("::1%eth0", .address([UInt8](repeating: 0, count: 15) + [1])), ("1.2.3", .name("1.2.3")), ("", nil),
        (".", nil), ("a\u{0}b", nil),
    ])
    func `a host is a name or an address`(host: String, name: ServerName?) {
        #expect(ServerName(host: host) == name)
    }
}
