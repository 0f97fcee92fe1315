import Foundation
import TestSupport
import Testing
import URLLoading

/// Subclasses of the program that call a completion handler more than once. The first answer counts.
@Suite(.leavesNothing) struct FirstAnswerTests {
    private final class Cookies: HTTPCookieStorage, @unchecked Sendable {
        override func getCookiesFor(
            _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
        ) {
            completionHandler([])
            completionHandler(nil)
        }
    }

    private final class Credentials: URLCredentialStorage, @unchecked Sendable {
        override func getCredentials(
            for protectionSpace: URLProtectionSpace, task: URLSessionTask,
            completionHandler: @escaping @Sendable ([String: URLCredential]?) -> Void
        ) {
            completionHandler([:])
            completionHandler(nil)
        }

        override func getDefaultCredential(
            for space: URLProtectionSpace, task: URLSessionTask,
            completionHandler: @escaping @Sendable (URLCredential?) -> Void
        ) {
            completionHandler(URLCredential(user: "first", password: "", persistence: .none))
            completionHandler(nil)
        }
    }

    private final class Cache: URLCache, @unchecked Sendable {
        override func getCachedResponse(
            for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            completionHandler(nil)
            completionHandler(nil)
        }
    }

    private final class Session: URLSession, @unchecked Sendable {
        override func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
            completionHandler([])
            completionHandler([])
        }
    }

    // COOK-17, S-87
    @Test("the first answer counts") func firstAnswer() async throws {
        let session = URLSession { _ in }
        let task = session.dataTask(with: try #require(URL(string: "http://localhost/")))
        let space = URLProtectionSpace(
            host: "localhost", port: 80, protocol: "http", realm: nil, authenticationMethod: nil)
        #expect(await Cookies().cookies(for: task) == [])
        #expect(await Credentials().credentials(for: space, task: task) == [:])
        #expect(await Credentials().defaultCredential(for: space, task: task)?.user == "first")
        #expect(await Cache().cachedResponse(for: task) == nil)
        #expect(await Session(configuration: .ephemeral).allTasks == [])
        session.invalidateAndCancel()
    }
}
