import CSimulation
import Foundation
import URLLoading

/// A power failure at some change of the disk, after which the program starts again on what is left, and what has to be
/// left: records that the library has reported as stored.
struct PowerCut {
    private static let site = "kept.example"
    private static let space = URLProtectionSpace(
        host: site, port: 443, protocol: "https", realm: "kept",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    /// The numbers of the records that are stored, a line each. It is not on the world's disk.
    private static let list = SimulatedProcess.outside("stored")

    /// Stores records while the world's tasks run.
    static func prepare(on disk: SimulatedDisk) {
        let choices = Choices("power")
        guard choices.oneIn(4), disk.isFaultless, Parts.has("power fails") else { return }
        simulation_cut_power_after(UInt64(1 + choices.below(200)))
        Thread.detachNewThread {
            let choices = Choices("records")
            for number in 0..<1 + choices.below(8) {
                usleep(UInt32(choices.below(500_000)))
                store(number)
            }
        }
    }

    private static func value(_ number: Int) -> String { String(repeating: "v\(number).", count: 1 + number * 100) }

    private static func store(_ number: Int) {
        if number % 2 == 0 {
            let cookie = HTTPCookie(properties: [
                .name: "kept\(number)", .value: value(number), .domain: site, .path: "/",
                // The wall clock may jump by a year in all.
                .maximumAge: "\(399 * 86400)", .version: "1",
            ])
            guard let cookie else { return Law.require(false, "a cookie is valid") }
            HTTPCookieStorage.shared.setCookie(cookie)
        } else {
            URLCredentialStorage.shared.set(
                URLCredential(user: "kept\(number)", password: value(number), persistence: .permanent), for: space)
        }
        let session = URLSession(configuration: .default)
        session.flush {
            note(number)
            session.invalidateAndCancel()
        }
    }

    private static func note(_ number: Int) {
        simulation_begin_undisturbed()
        defer { simulation_end_undisturbed() }
        guard let file = fopen(list, "a") else { return Law.require(false, "a record can be noted") }
        fputs("\(number)\n", file)
        fclose(file)
    }

    /// After the restart.
    static func check() {
        simulation_begin_undisturbed()
        let text = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
        simulation_end_undisturbed()
        let numbers = text.split(separator: "\n").compactMap { Int($0) }
        simulation_note("what was stored: \(numbers)")
        let cookies = HTTPCookieStorage.shared.cookies ?? []
        let credentials = URLCredentialStorage.shared.credentials(for: space) ?? [:]
        for number in numbers {
            let name = "kept\(number)"
            let found = number % 2 == 0 ? cookies.first { $0.name == name }?.value : credentials[name]?.password
            Law.require(
                found == value(number),
                "what was reported as stored is there after a power cut: \(name) is \(found ?? "gone")")
        }
    }
}
