internal import CLoadingTLS
internal import FoundationEssentials

/// The locations of the system's root certificates.
///
/// A directory with hashed file names is searched for the one root that a chain needs. A bundle must be parsed
/// completely, so it is used only if there is no such directory.
struct SystemRoots: Equatable {
    var directories: [String] = []
    var files: [String] = []
    /// Folders with certificates that the administrator has added. Nil if the environment or the application defines
    /// the roots.
    var additions: [String]?

    /// Of Debian, Fedora, Arch and SUSE.
    private static let usualAdditions = [
        "/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors",
        "/etc/ca-certificates/trust-source/anchors", "/etc/pki/trust/anchors",
    ]
    private static let usualDirectories = [
        "/etc/ssl/certs", "/etc/pki/ca-trust/extracted/pem/directory-hash", "/etc/pki/tls/certs",
    ]
    private static let usualFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/pki/tls/cacert.pem",
    ]

    /// SSL_CERT_DIR and SSL_CERT_FILE replace the default locations, as in OpenSSL.
    static func current() -> SystemRoots {
        locate(
            directoryVariable: clt_environment("SSL_CERT_DIR").map { String(cString: $0) },
            fileVariable: clt_environment("SSL_CERT_FILE").map { String(cString: $0) },
            isHashedDirectory: { clt_is_hashed_directory($0) }, isReadableFile: { clt_is_readable_file($0) })
    }

    static func locate(
        directoryVariable: String?, fileVariable: String?, isHashedDirectory: (String) -> Bool,
        isReadableFile: (String) -> Bool
    ) -> SystemRoots {
        var roots = SystemRoots()
        if directoryVariable == nil, fileVariable == nil { roots.additions = usualAdditions }
        if let directoryVariable {
            roots.directories = directoryVariable.split(separator: ":").map(String.init)
        } else {
            roots.directories = usualDirectories.first(where: isHashedDirectory).map { [$0] } ?? []
        }
        if let fileVariable {
            roots.files = [fileVariable]
        } else if !roots.directories.contains(where: isHashedDirectory) {
            roots.files = usualFiles.first(where: isReadableFile).map { [$0] } ?? []
        }
        return roots
    }

    /// The files in `additions`.
    var addedFiles: [String]? {
        additions?.flatMap { folder in
            let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
            return names.map { folder + "/" + $0 }
        }
    }
}
