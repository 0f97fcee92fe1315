import Foundation
import Glibc

/// Ends the process after a period without progress, and reports what hangs.
enum Watchdog {
    static func start(over ledger: Ledger, timeout: Double) {
        Thread.detachNewThread {
            while true {
                sleep(1)
                guard let silence = ledger.silence, silence > timeout else { continue }
                let hanging = ledger.liveDescriptions
                say("HANGS: nothing has moved for \(Int(silence)) s. Awaited:")
                for line in hanging.prefix(200) { say("  \(line)") }
                if hanging.count > 200 { say("  and \(hanging.count - 200) more") }
                _exit(1)
            }
        }
    }

    /// For work with a known duration.
    static func start(limit seconds: Int) {
        Thread.detachNewThread {
            sleep(UInt32(seconds))
            say("HANGS: it is not done after \(seconds) s.")
            _exit(1)
        }
    }
}

/// Writes a line to standard output atomically, from any thread.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
