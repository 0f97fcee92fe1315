import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

#if compiler(>=6.2)
    /// Writes at the exit of a process.
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

        // S-17, COOK-23
        @Test(
            "cookies of a response are written when the process ends, though the list of public suffixes is still read")
        func waitingCookies() async {
            await #expect(processExitsWith: .success) {
                // What is named first is called last.
                atexit { if Waiting.recordStore.kept.map(\.name) != ["a"] { _exit(2) } }
                // Awaited by the storing call, and by the flush at exit.
                Waiting.suffixes.finishReading(whenAwaitedBy: 2)
                let request = CookieRequest(try HTTPURL("https://www.example.org/"))
                Waiting.storage.receiveWhenLoaded(["a=1; Max-Age=1000"], from: request, policy: .always)
                exit(0)
            }
        }

        private enum Waiting {
            static let suffixes = DeferredSuffixes()
            static let recordStore = ScriptedRecordStore<Cookie>([])
            static let storage = HTTPCookieStorage(
                suffixes: suffixes.list, unlessEmpty: { false }, recordStore: { recordStore })
        }
    }
#endif
