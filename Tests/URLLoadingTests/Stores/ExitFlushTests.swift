import Foundation
import LoadingStorage
import TestSupport
import Testing
import URLLoading

#if compiler(>=6.2)
    /// What is written when a process ends.
    @Suite struct ExitFlushTests {
        @Test("a process that was forked off does not wait for the stores of its parent") func forked() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                let storage = HTTPCookieStorage(in: StorageDirectory(path: directory.path))
                let cookie = HTTPCookie(properties: [
                    .name: "a", .value: "b", .domain: "example.org", .path: "/", .expires: Date.distantFuture,
                ])
                storage.setCookie(try #require(cookie))
                await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
                let symbol = try #require(dlsym(nil, "fork"))
                let fork = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
                let start = ContinuousClock.now
                let child = fork()
                if child == 0 { exit(0) }
                var status: Int32 = -1
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
                // So long it would wait for a thread that it does not have.
                guard status == 0, ContinuousClock.now - start < .seconds(2) else { exit(2) }
                withExtendedLifetime(storage) {}
            }
        }
    }
#endif
