import CSimulation
import Foundation

/// What a process does before it forks those of worlds: what each of them would do again otherwise. It starts no thread, reads no clock
/// and leaves the library alone.
enum Preparation {
    static func run() {
        simulation_tls_prepare()
    }
}
