internal import CLoadingDaemon
internal import CLoadingLinux
internal import Glibc
internal import LoadingStorage
internal import LoadingTransport

/// The program that runs the service.
package enum ServiceProgram: Equatable, Sendable {
    /// `urlsessiond`.
    case installed(String)
    /// The executable of this process, which contains the service. It may have been removed or replaced since its
    /// start.
    case own

    /// Names the program.
    package static let variable = "URLSESSIOND"
    static let name = "urlsessiond"

    /// The named program, else an installed one, else the process's own.
    package static func found() throws(ServiceStartFailure) -> ServiceProgram {
        // Ignored by a process with other rights than its user.
        if let named = cll_environment(variable).map({ String(cString: $0) }), !named.isEmpty {
            guard named.hasPrefix("/"), StorageDirectory.isTrustedProgram(named) else { throw .untrustedProgram(named) }
            return .installed(named)
        }
        return candidates.first(where: StorageDirectory.isTrustedProgram).map { .installed($0) } ?? .own
    }

    private static var candidates: [String] {
        var folders: [String] = []
        if let own = executable, let slash = own.lastIndex(of: "/") {
            folders += [String(own[..<slash]), own[..<slash] + "/../libexec"]
        }
        folders += ["/usr/local/libexec", "/usr/libexec"]
        // Relative entries would depend on the current folder.
        folders += (StorageDirectory.variable("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map(
            String.init)
        return folders.map { $0 + "/" + name }
    }

    /// The path of this process's executable.
    package static var executable: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink("/proc/self/exe", &bytes, bytes.count - 1)
        guard count > 0 else { return nil }
        let path = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The kernel's mark.
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    var path: String {
        switch self {
        case .installed(let path): path
        case .own: "/proc/self/exe"
        }
    }

    /// Starts the service, which listens at `address`.
    func start(at address: borrowing UNIXAddress, for place: ServicePlace) throws(ServiceStartFailure) {
        var preloaded: String?
        if self == .own {
            guard cld_can_serve() != 0 else { throw .program(Self.executable ?? path, ENOEXEC) }
            preloaded = cld_library().flatMap { Self.realPath($0) }
        }
        let environment = ServiceEnvironment.variables(for: place, preloading: preloaded)
        let code = Self.withStrings([Self.name]) { arguments in
            Self.withStrings(environment) { environment in
                address.withAddress { cld_start_service(path, arguments, environment, $0, $1) } ?? EINVAL
            }
        }
        guard code == 0 else { throw .program(path, code) }
    }

    private static func realPath(_ path: UnsafePointer<CChar>) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// Calls `body` with an array of C strings that ends with NULL.
    private static func withStrings<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var copies: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeMutableBufferPointer { buffer in
            // Not empty, so it has an address.
            body(UnsafePointer(buffer.baseAddress!))
        }
    }
}
