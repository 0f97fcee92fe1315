import Foundation
import TestSupport
import Testing

/// What `scripts/bench` measures.
@Suite struct BenchmarkTests {
    private static let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    // S-99: the same body over HTTP/1.1 and HTTP/2, both over TLS, and many small ones over one connection and several
    @Test("HTTP/1.1 and HTTP/2 are measured on the same work") func versions() throws {
        let question = """
            from driver.workloads import BY_NAME
            for name in ["w4", "h2b", "w2a", "h2a"]:
                w = BY_NAME[name]
                print(name, w.version, w.tls, w.requests, w.body, w.upload, w.concurrency > 1, w.connections)
            """
        let (exit, output) = try ChildProcess.run(
            "/usr/bin/env", ["python3", "-B", "-c", question],
            environment: ["PYTHONPATH": Self.checkout.appendingPathComponent("Benchmarks").path])
        #expect(exit == .code(0))
        #expect(
            output == """
                w4 1 True 1 2147483648 0 False 1
                h2b 2 True 1 2147483648 0 False 1
                w2a 1 False 50000 100 0 True 6
                h2a 2 True 20000 100 0 True 1

                """)
    }
}
