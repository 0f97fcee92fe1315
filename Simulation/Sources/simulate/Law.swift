import CSimulation
import Foundation

/// What has to hold in every world. The first breach is reported, with the time, and ends the process.
enum Law {
    static let breach: Int32 = 73

    static func require(_ condition: Bool, _ law: @autoclosure () -> String) {
        guard !condition else { return }
        let time = Double(simulation_now()) / 1e9
        FileHandle.standardError.write(Data("broken law at \(time) s: \(law())\n".utf8))
        // Not exit(): other threads would run on while the process is taken down.
        _exit(breach)
    }
}
