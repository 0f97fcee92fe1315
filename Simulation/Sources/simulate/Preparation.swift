import CSimulation
import Foundation

/// What a process does before it forks those of worlds: what each of them would do again otherwise. It starts no
/// thread, reads no clock and leaves the library alone.
enum Preparation {
    /// What the library loads when it needs it.
    private static let libraries = [
        "libsqlite3.so.0", "libproxy.so.1", "libpsl.so.5", "libzstd.so.1", "libbrotlidec.so.1",
    ]

    /// - Parameter roots: The file for the certificate of the worlds' authority.
    static func run(roots: String) {
        simulation_prepare_types()
        simulation_tls_prepare(roots)
        World.prepareCertificates()
        for name in libraries { _ = dlopen(name, RTLD_NOW) }
        // Foundation makes a table of its classes, with which the runtime looks for conformances of many types.
        _ = NSStringFromClass(NSObject.self)
    }
}
