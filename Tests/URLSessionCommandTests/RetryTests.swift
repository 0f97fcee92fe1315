import Foundation
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// `--retry`.
@Suite struct RetryTests {
    @Test func delaysDouble() {
        var options = RetryOptions()
        options.count = 12
        var policy = RetryPolicy(options)
        var delays: [Double?] = []
        for _ in 0..<13 { delays.append(policy.delay(after: .status(503, retryAfter: nil), elapsed: 0)) }
        #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, nil])
    }

    @Test func delaysAreGiven() {
        var options = RetryOptions()
        options.count = 5
        options.delay = 0.5
        options.maximumTime = 10
        var policy = RetryPolicy(options)
        #expect(policy.delay(after: .status(503, retryAfter: nil), elapsed: 0) == 0.5)
        #expect(policy.delay(after: .status(503, retryAfter: 3), elapsed: 0) == 3)
        #expect(policy.delay(after: .status(503, retryAfter: 3), elapsed: 8) == nil)
        #expect(policy.delay(after: .status(503, retryAfter: nil), elapsed: 9.5) == 0.5)
    }

    @Test func causes() {
        func allows(_ cause: RetryPolicy.Cause, _ change: (inout RetryOptions) -> Void = { _ in }) -> Bool {
            var options = RetryOptions()
            options.count = 1
            change(&options)
            return RetryPolicy(options).allows(cause)
        }
        #expect(
            [200, 400, 404, 408, 429, 500, 501, 502, 503, 504].map { allows(.status($0, retryAfter: nil)) }
                == [false, false, false, true, true, true, false, true, true, true])
        let codes = [ExitCode.timedOut, .hostNotFound, .cannotConnect, .partialBody, .interrupted, .writeError]
        #expect(codes.map { allows(.failure($0)) } == [true, true, false, false, false, false])
        #expect(
            codes.map { allows(.failure($0)) { $0.afterRefusal = true } } == [true, true, true, false, false, false])
        #expect(
            codes.map { allows(.failure($0)) { $0.afterAllErrors = true } } == [true, true, true, true, false, false])
        #expect(!allows(.status(503, retryAfter: nil)) { $0.count = 0 })
    }

    @Test func retryAfter() {
        let now = Date(timeIntervalSince1970: 1_704_164_645)
        #expect(RetryAfter.seconds("120", at: now) == 120)
        #expect(RetryAfter.seconds("Tue, 02 Jan 2024 03:04:10 GMT", at: now) == 5)
        #expect(RetryAfter.seconds("Tue, 02 Jan 2024 03:04:00 GMT", at: now) == 0)
        #expect(RetryAfter.seconds("999999", at: now) == 21_600)
        #expect(["-1", "soon", ""].map { RetryAfter.seconds($0, at: now) } == [nil, nil, nil])
    }

    /// Of what no wait can take, ten years are left.
    @Test("a delay without end", arguments: [1e10, 1e300]) func delayWithoutEnd(delay: Double) {
        var options = RetryOptions()
        options.count = 1
        options.delay = delay
        var policy = RetryPolicy(options)
        #expect(policy.delay(after: .status(503, retryAfter: nil), elapsed: 0) == 315_360_000)
    }

    /// There is no time for another try, so this response is the last one.
    @Test func lastResponseIsWritten() throws {
        let harness = try CommandHarness(
            .answering { _ in .text("busy", status: 503).with(field: "Retry-After", "100") })
        defer { harness.server.stop() }
        let line = ["-s", "--retry", "3", "--retry-max-time", "1", harness.url()]
        #expect(try harness.runInFolder(line) == RunningCommand.Outcome(exit: .code(0), output: "busy"))
        #expect(harness.server.requests.count == 1)
    }

    /// A server that fails a number of times.
    private func harness(failing count: Int, _ failure: CannedResponse = .text("busy", status: 503)) throws
        -> CommandHarness
    {
        let tries = Watched(0)
        return try CommandHarness(
            .answering { request in
                let number = tries.withValue { count in
                    count += 1
                    return count
                }
                return number <= count ? failure : .text("done \(request.bodyText)")
            })
    }

    @Test func secondTrySucceeds() throws {
        let harness = try harness(failing: 2)
        defer { harness.server.stop() }
        let (exit, output) = try harness.run("--retry", "3", "--retry-delay", "0.01", "-d", "a=b", harness.url("/x"))
        #expect(exit == .code(0))
        #expect(
            output == "urlsession: SERVER/x answered 503 Service Unavailable: trying again in 0.0 s, 2 tries left\n"
                + "urlsession: SERVER/x answered 503 Service Unavailable: trying again in 0.0 s, 1 try left\ndone a=b")
        // The tries share a connection, unless it was lost with the response that was not read.
        #expect(harness.server.requests.map(\.bodyText) == ["a=b", "a=b", "a=b"])
    }

    /// The last response is shown as without `--retry`.
    @Test func lastTryFails() throws {
        let harness = try harness(failing: 9)
        defer { harness.server.stop() }
        let line = ["-s", "--retry", "2", "--retry-delay", "0.01", harness.url("/x")]
        #expect(try harness.runInFolder(line) == RunningCommand.Outcome(exit: .code(0), output: "busy"))
        #expect(harness.server.requests.count == 3)
        #expect(try harness.runInFolder(["-f"] + line).exit == .code(22))
    }

    @Test func retryAfterIsAwaited() throws {
        let harness = try harness(failing: 1, .text("", status: 429).with(field: "Retry-After", "1"))
        defer { harness.server.stop() }
        let (exit, output) = try harness.run("--retry", "1", "--retry-delay", "0.01", harness.url("/x"))
        #expect(exit == .code(0))
        #expect(output.contains("trying again in 1 s, 0 tries left\n"))
        let limited = try harness.run("-s", "--retry", "1", "--retry-max-time", "0.5", harness.url("/x"))
        #expect(limited.exit == .code(0))
    }

    /// Standard input cannot be sent again, so a retry that would never happen is refused.
    @Test func inputThatIsReadOnce() throws {
        let harness = try harness(failing: 1)
        defer { harness.server.stop() }
        let outcome = try RunningCommand.run(
            ["-s", "--retry", "3", "--retry-delay", "0.01", "--data-binary", "@-", harness.url("/x")], input: "once")
        #expect(outcome.exit == .code(2))
        #expect(outcome.output == "")
        #expect(harness.server.requests.isEmpty)
    }

    @Test func refusedConnection() throws {
        let harness = try harness(failing: 0)
        let url = harness.url("/x")
        harness.server.stop()
        let line = ["--retry", "1", "--retry-delay", "0.01", url]
        let plain = try harness.runInFolder(line)
        #expect(plain.exit == .code(7))
        #expect(!plain.output.contains("trying again"))
        for option in ["--retry-connrefused", "--retry-all-errors"] {
            let again = try harness.runInFolder([option] + line)
            #expect(again.exit == .code(7))
            #expect(again.output.contains("trying again in 0.0 s, 0 tries left\n"))
        }
    }
}
