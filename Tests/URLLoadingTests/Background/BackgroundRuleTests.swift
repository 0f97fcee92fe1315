import Foundation
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// Tasks that a background session cannot have: programming errors.
@Suite struct BackgroundRuleTests {
    #if compiler(>=6.2)
        // T-50, BG-3, S-100
        @Test("a completion handler") func aCompletionHandler() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = BackgroundRuleTests.session.downloadTask(with: BackgroundRuleTests.url) { _, _, _ in }
            }
        }

        // T-50
        @Test("a data task with a completion handler") func aDataTask() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = BackgroundRuleTests.session.dataTask(with: BackgroundRuleTests.url) { _, _, _ in }
            }
        }

        // T-50
        @Test("an async method") func anAsyncMethod() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = try await BackgroundRuleTests.session.data(from: BackgroundRuleTests.url)
            }
        }

        // T-50, BG-3
        @Test("a WebSocket") func aWebSocket() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = BackgroundRuleTests.session.webSocketTask(with: BackgroundRuleTests.url)
            }
        }

        // BG-3
        @Test("a stream") func aStream() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = BackgroundRuleTests.session.streamTask(withHostName: "localhost", port: 1)
            }
        }

        // BG-2
        @Test("an upload from data") func anUploadFromData() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = BackgroundRuleTests.session.uploadTask(
                    with: URLRequest(url: BackgroundRuleTests.url), from: Data("x".utf8))
            }
        }

        // BG-2
        @Test("an upload from a stream") func anUploadFromAStream() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = BackgroundRuleTests.session.uploadTask(
                    withStreamedRequest: URLRequest(url: BackgroundRuleTests.url))
            }
        }

        // BG-3, S-48
        @Test("no delegate") func noDelegate() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = URLSession(configuration: .background(withIdentifier: "none"))
                    .downloadTask(with: BackgroundRuleTests.url)
            }
        }
    #endif

    private static var url: URL { URL(fileURLWithPath: "/") }

    private static var session: URLSession {
        let configuration = URLSessionConfiguration.background(withIdentifier: "rules")
        configuration.connectToBackgroundService = { .failure(.backgroundServiceLost("none")) }
        return URLSession(configuration: configuration, delegate: EndDelegate(), delegateQueue: nil)
    }
}
