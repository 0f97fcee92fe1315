import Foundation
import Glibc

/// `conformance` runs all cases, each in a process of its own, and prints one line of JSON for each. With the name of a
/// case, it runs that one in this process. With `--list` it prints the names.
@main
enum Conformance {
    static let cases: [Case] =
        sessionCases + configurationCases + taskCases + orderCases + asyncCases + uploadCases + redirectCases
        + authenticationCases + cacheCases + cookieCases + resumptionCases + webSocketCases + metricsCases + proxyCases
        + transportSecurityCases + connectionCases + hostileCases + errorCases + codingCases + requestCases
        + responseCases + protocolCases

    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "--list" {
            for one in cases { print("\(one.rules.joined(separator: ", ")): \(one.name)") }
        } else if let name = arguments.first {
            await run(name)
        } else {
            await runAll()
        }
    }

    private static func run(_ name: String) async {
        guard let one = cases.first(where: { $0.name == name }) else {
            print("there is no case of this name")
            _exit(2)
        }
        chdir(NSTemporaryDirectory())
        var status: Int32 = 0
        do {
            try await one.body()
        } catch let mismatch as Mismatch {
            print(mismatch.reason)
            status = 1
        } catch {
            let error = error as NSError
            print("threw \(error.domain) \(error.code)")
            status = 1
        }
        fflush(nil)
        // Without the destructors of libraries: the verdict is known.
        _exit(status)
    }

    private static func runAll() async {
        let parallel = max(2, ProcessInfo.processInfo.activeProcessorCount)
        await withTaskGroup(of: (Int, Verdict).self) { group in
            var next = 0
            var verdicts: [Int: Verdict] = [:]
            func start() {
                guard next < cases.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await CaseProcess(name: cases[index].name).verdict()) }
            }
            for _ in 0..<parallel { start() }
            while let (index, verdict) = await group.next() {
                verdicts[index] = verdict
                start()
            }
            for (index, one) in cases.enumerated() { report(one, verdicts[index]) }
        }
    }

    private static func report(_ one: Case, _ verdict: Verdict?) {
        let line = [
            "rules": one.rules.joined(separator: " "), "name": one.name, "outcome": verdict?.outcome.rawValue ?? "",
            "reason": verdict?.reason ?? "",
        ]
        let data = (try? JSONSerialization.data(withJSONObject: line, options: [.sortedKeys])) ?? Data()
        print(String(decoding: data, as: UTF8.self))
    }
}
