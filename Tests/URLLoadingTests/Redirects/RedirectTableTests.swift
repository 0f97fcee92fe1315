import Foundation
import TestSupport
import Testing
import URLLoading

/// All combinations of status, method, body, destination and answer.
@Suite struct RedirectTableTests {
    // S-58: 3,024 rows each
    @Test(
        "the table of redirects", .leavesNothing, .timeLimit(.minutes(10)),
        arguments: RedirectCase.Answer.allCases)
    func theTable(answer: RedirectCase.Answer) async throws {
        let site = try ScriptedRedirectSite()
        defer { site.stop() }
        try await check(site, answer)
        #expect(site.bodies == expectedBodies(answer))
    }

    //
    @Test(
        "the table of redirects, by nginx", .needs(.nginx), .timeLimit(.minutes(10)),
        arguments: RedirectCase.Answer.allCases)
    func theTableByNginx(answer: RedirectCase.Answer) async throws {
        let site = try NginxRedirectSite()
        defer { site.stop() }
        try await check(site, answer)
    }

    private func rows(_ answer: RedirectCase.Answer) -> [RedirectCase] {
        RedirectCase.all.filter { $0.answer == answer }
    }

    /// the received bodies by row.
    private func expectedBodies(_ answer: RedirectCase.Answer) -> [Int: String] {
        var bodies: [Int: String] = [:]
        for row in rows(answer) where row.arrives {
            let keepsBody = row.nextMethod == row.method && row.body != .none
            bodies[row.number] = answer == .change ? "changed" : keepsBody ? RedirectCase.ownBody : ""
        }
        return bodies
    }

    /// Loads all rows, several concurrently, and compares callbacks and redirected requests.
    private func check(_ site: some RedirectSite, _ answer: RedirectCase.Answer) async throws {
        let session = URLSession { $0.httpMaximumConnectionsPerHost = 4 }
        let rows = rows(answer)
        var failures: [String] = []
        try await withThrowingTaskGroup(of: String?.self) { group in
            var rest = rows[...]
            for _ in 0..<8 {
                guard let row = rest.popFirst() else { break }
                group.addTask { try await Self.failure(of: row, session, site) }
            }
            while let failure = try await group.next() {
                if let failure { failures.append(failure) }
                if let row = rest.popFirst() {
                    group.addTask { try await Self.failure(of: row, session, site) }
                }
            }
        }
        #expect(failures.isEmpty, "\(failures.count) rows, such as \(failures.prefix(5))")
        session.invalidateAndCancel()
        #expect(try site.arrived() == rows.filter(\.arrives).map(\.number))
    }

    /// The fault of a row, or nil.
    private static func failure(
        of row: RedirectCase, _ session: URLSession, _ site: some RedirectSite
    ) async throws -> String? {
        let target = site.target(of: row)
        let delegate = RedirectDelegate(row, target)
        let task = session.dataTask(with: row.request(to: site.start(of: row)))
        task.delegate = delegate
        task.resume()
        if row.isFollowed, row.answer == .never {
            try await delegate.events.waitFor(count: 1)
            task.cancel()
        }
        let recorded = try await delegate.events.waitUntil("the end of \(row)") {
            if case .completed = $0.last { true } else { false }
        }
        let heardPage = recorded.compactMap { if case .text(let text) = $0 { text } else { nil } }.first
        let expected = row.expected(target: target.absoluteString, page: site.page(of: row) ?? heardPage ?? "")
        return recorded == expected ? nil : "\(row): \(recorded) and not \(expected)"
    }
}

/// Answers as the row specifies, and records the callbacks.
private final class RedirectDelegate: NSObject, URLSessionDataDelegate, Sendable {
    let events = EventRecorder<RedirectEvent>()
    private let row: RedirectCase
    private let target: URL
    private let text = Watched(Data())

    init(_ row: RedirectCase, _ target: URL) {
        self.row = row
        self.target = target
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        events.record(
            .asked(response.statusCode, request.httpMethod ?? "", request.url?.absoluteString ?? ""))
        switch row.answer {
        case .follow: completionHandler(request)
        case .change: completionHandler(row.changed(target))
        case .refuse: completionHandler(nil)
        case .never: break
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(InputStream(data: Data(RedirectCase.ownBody.utf8)))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        events.record(.response((response as? HTTPURLResponse)?.statusCode ?? 0))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        text.withValue { $0.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let text = text.current
        if !text.isEmpty { events.record(.text(String(decoding: text, as: UTF8.self))) }
        events.record(.completed((error as? URLError)?.code.rawValue))
    }
}
