import Foundation
import TestSupport
import Testing
import URLLoading

/// A process without free file descriptors: loads wait for one and then continue. Each test lowers the limit in its own
/// process; the server is in this one.
@Suite struct DescriptorTests {
    /// Limits the number of descriptors of this process.
    private static func allow(descriptors count: Int) {
        var limit = rlimit(rlim_cur: rlim_t(count), rlim_max: rlim_t(count))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Opens all available descriptors, and returns them.
    private static func takeAll() -> [Int32] {
        var taken: [Int32] = []
        while true {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return taken }
            taken.append(descriptor)
        }
    }

    private static func server(isSecure: Bool) throws -> ScriptedServer {
        // The environment configures what the other process trusts.
        try isSecure
            ? .answering(tls: TrustedAuthority.server()) { _ in .text("ok") } : .answering(.text("ok"))
    }

    #if compiler(>=6.3)
        // CONN-14, ERR-5: of 3,000 loads with more connections allowed than there are descriptors, none fails
        @Test("more loads than descriptors", .timeLimit(.minutes(3))) func moreLoadsThanDescriptors() async throws {
            let server = try ScriptedServer.answering { .text($0.target) }
            defer { server.stop() }
            let port = server.port
            await #expect(processExitsWith: .success) { [port = port as Int] in
                Self.allow(descriptors: 256)
                let configuration = URLSessionConfiguration.ephemeral
                configuration.httpMaximumConnectionsPerHost = 1_000
                let session = URLSession(configuration: configuration)
                await withTaskGroup(of: Void.self) { group in
                    for index in 0..<3_000 {
                        guard let url = URL(string: "http://127.0.0.1:\(port)/\(index)") else { exit(2) }
                        group.addTask {
                            let code = await failure {
                                guard try await session.text(url) == "/\(index)" else { exit(3) }
                            }
                            // The number of the error, as far as an exit status can express it: -1005 is 105.
                            if let code { exit(Int32(-900 - code.rawValue)) }
                        }
                    }
                }
                exit(EXIT_SUCCESS)
            }
            #expect(server.requests.count == 3_000)
            #expect(server.connectionCount > 100)
        }
    #endif

    #if compiler(>=6.3)
        // CONN-14, ERR-5: by address and by name, in the clear and over TLS
        @Test("no descriptor at all", .timeLimit(.minutes(1)), arguments: ["127.0.0.1", "localhost"], [false, true])
        func noDescriptorAtAll(host: String, isSecure: Bool) async throws {
            let server = try Self.server(isSecure: isSecure)
            defer { server.stop() }
            let address = server.url(host: host).absoluteString
            await #expect(processExitsWith: .success) { [address = address as String] in
                Self.allow(descriptors: 64)
                guard let url = URL(string: address) else { exit(2) }
                let session = URLSession(configuration: .ephemeral)
                // Has the loops made, which wait for descriptors themselves.
                _ = try? await session.data(from: URL(fileURLWithPath: "/"))
                let taken = Self.takeAll()
                let isDone = Watched(false)
                let load = Task {
                    let data = try? await session.data(from: url).0
                    isDone.withValue { $0 = true }
                    return data
                }
                // It has neither failed nor, without a descriptor, succeeded.
                guard Self.isStillWaiting(isDone) else { exit(3) }
                for descriptor in taken { close(descriptor) }
                exit(await load.value == Data("ok".utf8) ? EXIT_SUCCESS : 4)
            }
        }
    #endif

    #if compiler(>=6.3)
        /// Whether nothing has happened after ten retry intervals.
        private static func isStillWaiting(_ isDone: Watched<Bool>) -> Bool {
            // Not a timer of Dispatch, which needs a descriptor.
            usleep(200_000)
            return !isDone.current
        }

        // CONN-14, TLS-4: a certificate is judged by roots that have to be read, and to read them takes a descriptor
        @Test("a descriptor for the socket and none for the roots", .timeLimit(.minutes(1)))
        func aDescriptorForTheSocketAndNoneForTheRoots() async throws {
            let server = try Self.server(isSecure: true)
            defer { server.stop() }
            let address = server.url().absoluteString
            await #expect(processExitsWith: .success) { [address = address as String] in
                Self.allow(descriptors: 64)
                guard let url = URL(string: address) else { exit(2) }
                let session = URLSession(configuration: .ephemeral)
                _ = try? await session.data(from: URL(fileURLWithPath: "/"))
                var taken = Self.takeAll()
                let isDone = Watched(false)
                let load = Task {
                    defer { isDone.withValue { $0 = true } }
                    return await failure {
                        guard try await session.text(url) == "ok" else { exit(3) }
                    }
                }
                close(taken.removeFirst())
                guard Self.isStillWaiting(isDone) else { exit(4) }
                for descriptor in taken { close(descriptor) }
                // The number of the error, as far as an exit status can express it: -1203 is 203.
                if let code = await load.value { exit(Int32(-1000 - code.rawValue)) }
                exit(EXIT_SUCCESS)
            }
            #expect(server.requests.count == 1)
        }

        // CONN-14, ERR-8: a download waits for the descriptor of its file as for that of its socket, with no more of
        // the body in memory than for a slow disk
        @Test("a descriptor for the socket and none for the file", .timeLimit(.minutes(1)))
        func aDescriptorForTheSocketAndNoneForTheFile() async throws {
            let length = 8 << 20
            let server = try ScriptedServer.answering { _ in .bytes([UInt8](repeating: 7, count: length)) }
            defer { server.stop() }
            let address = server.url().absoluteString
            await #expect(processExitsWith: .success) { [address = address as String, length = length as Int] in
                Self.allow(descriptors: 64)
                guard let url = URL(string: address) else { exit(2) }
                let session = URLSession(configuration: .ephemeral)
                _ = try? await session.data(from: URL(fileURLWithPath: "/"))
                var taken = Self.takeAll()
                let isDone = Watched(false)
                let size = Watched(-1)
                let task = session.downloadTask(with: url) { file, _, _ in
                    let known = file.flatMap { try? FileManager.default.attributesOfItem(atPath: $0.path) }
                    size.withValue { $0 = known?[.size] as? Int ?? -1 }
                    isDone.withValue { $0 = true }
                }
                task.resume()
                close(taken.removeFirst())
                guard Self.isStillWaiting(isDone), task.countOfBytesReceived < 1 << 20 else { exit(3) }
                for descriptor in taken { close(descriptor) }
                while !isDone.current { usleep(1_000) }
                exit(size.current == length ? EXIT_SUCCESS : 4)
            }
        }

        // CONN-14: and it ends when it is cancelled, though the file can't even be closed
        @Test("a download without a descriptor is cancelled", .timeLimit(.minutes(1)))
        func aDownloadWithoutADescriptorIsCancelled() async throws {
            let server = try ScriptedServer.answering(.text("a file"))
            defer { server.stop() }
            let address = server.url().absoluteString
            await #expect(processExitsWith: .success) { [address = address as String] in
                Self.allow(descriptors: 64)
                guard let url = URL(string: address) else { exit(2) }
                let session = URLSession(configuration: .ephemeral)
                _ = try? await session.data(from: URL(fileURLWithPath: "/"))
                var taken = Self.takeAll()
                let code = Watched<Int?>(nil)
                let task = session.downloadTask(with: url) { _, _, error in
                    code.withValue { $0 = (error as? URLError)?.code.rawValue ?? 0 }
                }
                task.resume()
                close(taken.removeFirst())
                while task.response == nil { usleep(1_000) }
                task.cancel()
                while code.current == nil { usleep(1_000) }
                exit(code.current == NSURLErrorCancelled ? EXIT_SUCCESS : 3)
            }
        }
    #endif

    #if compiler(>=6.2)
        // CONN-15: the wait for a descriptor ends with the request timer
        @Test("a descriptor that never becomes available", .timeLimit(.minutes(1)))
        func aDescriptorThatNeverBecomesAvailable() async throws {
            await #expect(processExitsWith: .success) {
                Self.allow(descriptors: 64)
                let session = URLSession(configuration: .ephemeral)
                _ = try? await session.data(from: URL(fileURLWithPath: "/"))
                let taken = Self.takeAll()
                guard let url = URL(string: "http://127.0.0.1:1/"), !taken.isEmpty else { exit(2) }
                let code = await failure {
                    _ = try await session.data(for: URLRequest(url: url, timeoutInterval: 0.5))
                }
                exit(code == .timedOut ? EXIT_SUCCESS : 3)
            }
        }
    #endif
}
