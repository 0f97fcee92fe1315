import LoadingSemantics
import Testing

@Suite struct DownloadResumeTests {
    private static let tag = ("ETag", "\"v1\"")
    private static let modified = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    private static let laterDate = ("Date", "Sun, 06 Nov 1994 08:49:38 GMT")

    private func partial(
        method: String = "GET", url: String = "https://a.example/f", requestFields: [(String, String)] = [],
        status: Int = 200, _ fields: [(String, String)] = [tag, ("Content-Length", "1000")], from offset: Int64 = 0,
        received: Int64 = 400
    ) -> PartialDownload {
        PartialDownload(
            method: method, originalURL: url, url: url, requestFields: HTTPFields(requestFields), status: status,
            responseFields: HTTPFields(fields), responseOffset: offset, bytesReceived: received, fileName: "f.tmp")
    }

    private func point(
        _ validator: ResumeValidator = .entityTag("\"v1\""), received: Int64 = 400, total: Int64? = 1000
    ) throws -> DownloadResumePoint {
        try #require(
            DownloadResumePoint(
                originalURL: "http://a.example/f", url: "http://a.example/f", requestFields: HTTPFields(),
                validator: validator, bytesReceived: received, total: total, fileName: "f.tmp"))
    }

    // MARK: Stored state

    // RES-10
    @Test func storedState() throws {
        let download = PartialDownload(
            method: "GET", originalURL: "http://u:p@a.example/start", url: "https://u@b.example:8443/f?q#x",
            requestFields: HTTPFields([
                ("Accept", "a/b"), ("Authorization", "Basic x"), ("cookie", "a=b"), ("Proxy-Authorization", "y"),
                ("X-Own", "1"),
            ]), status: 200,
            responseFields: HTTPFields([
                Self.modified, Self.tag, ("Content-Length", "1000"), ("Accept-Ranges", "bytes"),
            ]),
            bytesReceived: 400, fileName: "f.tmp")
        let expected = DownloadResumePoint(
            originalURL: "http://a.example/start", url: "https://b.example:8443/f?q#x",
            requestFields: HTTPFields([("Accept", "a/b"), ("X-Own", "1")]), validator: .entityTag("\"v1\""),
            bytesReceived: 400, total: 1000, fileName: "f.tmp")
        #expect(expected != nil)
        #expect(DownloadResumePoint(download) == expected)
    }

    // RES-1
    @Test func nonresumableResponses() {
        let length = ("Content-Length", "1000")
        let hopeless: [(String, PartialDownload)] = [
            ("POST", partial(method: "POST")), ("HEAD", partial(method: "HEAD")),
            ("ftp", partial(url: "ftp://a.example/f")),
            ("no validator", partial([length])), ("weak tag", partial([("ETag", "W/\"v1\""), length])),
            ("bare tag", partial([("ETag", "v1"), length])),
            ("bad date", partial([("Last-Modified", "yesterday"), length])),
            ("date still running", partial([Self.modified, ("Date", Self.modified.1), length])),
            ("no ranges", partial([Self.tag, length, ("Accept-Ranges", "none")])),
            ("coded", partial([Self.tag, ("Content-Encoding", "gzip")])),
            ("own range", partial(requestFields: [("Range", "bytes=5-")])),
            ("own condition", partial(requestFields: [("if-range", "\"x\"")])), ("404", partial(status: 404)),
            ("204", partial(status: 204)), ("206 without range", partial(status: 206)),
            ("206 of an unasked part", partial(status: 206, [Self.tag, ("Content-Range", "bytes 100-999/1000")])),
            ("206 of no part", partial(status: 206, [Self.tag, ("Content-Range", "bytes */1000")])),
            ("more than all", partial(received: 1001)), ("negative", partial(received: -1)),
        ]
        #expect(hopeless.filter { DownloadResumePoint($0.1) != nil }.map(\.0) == [])
    }

    // RES-1, RES-3
    @Test func resumableResponses() {
        let cases: [(PartialDownload, ResumeValidator, Int64?)] = [
            (partial(), .entityTag("\"v1\""), 1000), (partial([Self.tag]), .entityTag("\"v1\""), nil),
            (partial([Self.tag, ("Content-Encoding", "identity")]), .entityTag("\"v1\""), nil),
            (partial([("ETag", "\"\""), ("Accept-Ranges", "Bytes")]), .entityTag("\"\""), nil),
            (partial([Self.modified, Self.laterDate]), .lastModified(Self.modified.1), nil),
            (partial([Self.modified]), .lastModified(Self.modified.1), nil),
            (partial([("ETag", "W/\"v1\""), Self.modified, Self.laterDate]), .lastModified(Self.modified.1), nil),
            (
                partial(status: 206, [Self.tag, ("Content-Range", "bytes 100-999/1000")], from: 100),
                .entityTag("\"v1\""), 1000
            ),
            (partial(status: 206, [Self.tag, ("Content-Range", "bytes 0-499/1000")]), .entityTag("\"v1\""), 1000),
            (partial(received: 0), .entityTag("\"v1\""), 1000), (partial(received: 1000), .entityTag("\"v1\""), 1000),
        ]
        for (download, validator, total) in cases {
            let point = DownloadResumePoint(download)
            #expect(point?.validator == validator)
            #expect(point?.total == total)
            #expect(point?.bytesReceived == download.bytesReceived)
        }
    }

    // RES-8
    @Test func nonsense() {
        func isRead(_ url: String, _ received: Int64, _ total: Int64?) -> Bool {
            DownloadResumePoint(
                originalURL: url, url: url, requestFields: HTTPFields(), validator: .entityTag("\"v\""),
                bytesReceived: received, total: total, fileName: "f") != nil
        }
        #expect(isRead("http://a.example/", 0, nil))
        #expect(!isRead("http://a.example/", -1, nil))
        #expect(!isRead("http://a.example/", 2, 1))
        #expect(!isRead("file:///etc/passwd", 0, nil))
        #expect(!isRead("ws://a.example/", 0, nil))
        #expect(!isRead("", 0, nil))
    }

    // RES-1: the file must exist.
    @Test func fileLimitsOffset() throws {
        let point = try point()
        #expect(point.backed(byFileOf: nil) == nil)
        #expect(point.backed(byFileOf: 1000)?.bytesReceived == 400)
        #expect(point.backed(byFileOf: 400) == point)
        #expect(point.backed(byFileOf: 399)?.bytesReceived == 399)
        #expect(point.backed(byFileOf: 0)?.asksForRest == false)
    }

    // RES-1: for a running download, the length of the file counts
    @Test func fileLengthOfRunningDownload() throws {
        let point = try point()
        #expect(point.bytesReceived == 400)
        #expect(point.counted(byFileOf: 399)?.bytesReceived == 399)
        #expect(point.counted(byFileOf: 500)?.bytesReceived == 500)
        #expect(point.counted(byFileOf: 0)?.asksForRest == false)
        let total = try #require(point.total)
        #expect(point.counted(byFileOf: total - 1)?.bytesReceived == total - 1)
        // The last byte is requested again, so that the server validates the file.
        #expect(point.counted(byFileOf: total)?.bytesReceived == total - 1)
        #expect(point.counted(byFileOf: total + 1) == nil)
    }

    // MARK: Requests

    // RES-3
    @Test func resumedRequest() throws {
        var point = try point()
        point.requestFields = HTTPFields([("accept-encoding", "br"), ("X-Own", "1")])
        #expect(
            point.resumedFields
                == HTTPFields([
                    ("X-Own", "1"), ("Accept-Encoding", "identity"), ("Range", "bytes=400-"), ("If-Range", "\"v1\""),
                ]))
        #expect(point.asksForRest)
        point.validator = .lastModified(Self.modified.1)
        #expect(point.resumedFields.firstValue("If-Range") == Self.modified.1)
        point.bytesReceived = 0
        #expect(point.resumedFields == point.requestFields)
        #expect(!point.asksForRest)
    }

    // MARK: Responses

    struct Answer: Sendable {
        let status: Int
        let fields: [(String, String)]
        let expected: ResumeDecision

        init(_ status: Int, _ fields: [(String, String)], _ expected: ResumeDecision) {
            self.status = status
            self.fields = fields
            self.expected = expected
        }
    }

    private static let right = ("Content-Range", "bytes 400-999/1000")

    // RES-4 to RES-7, RES-11
    static let answers = [
        Answer(206, [right], .append(offset: 400, length: 600, total: 1000)),
        Answer(206, [("content-range", "BYTES 400-999/1000"), tag], .append(offset: 400, length: 600, total: 1000)),
        Answer(206, [right, ("Content-Length", "600")], .append(offset: 400, length: 600, total: 1000)),
        Answer(206, [("Content-Range", "bytes 400-999/*")], .append(offset: 400, length: 600, total: 1000)),
        Answer(206, [right, ("Content-Encoding", "identity")], .append(offset: 400, length: 600, total: 1000)),
        Answer(206, [right, modified], .append(offset: 400, length: 600, total: 1000)),
        // Another version.
        Answer(206, [right, ("ETag", "\"v2\"")], .restart), Answer(206, [right, ("ETag", "W/\"v1\"")], .restart),
        Answer(206, [("Content-Range", "bytes 400-1999/2000")], .restart),
        // Not the rest, or not all of it.
        Answer(206, [], .restart), Answer(206, [("Content-Range", "bytes 0-999/1000")], .restart),
        Answer(206, [("Content-Range", "bytes 399-999/1000")], .restart),
        Answer(206, [("Content-Range", "bytes 401-999/1000")], .restart),
        Answer(206, [("Content-Range", "bytes 400-500/1000")], .restart),
        Answer(206, [("Content-Range", "bytes 400-500/*")], .restart),
        Answer(206, [("Content-Range", "bytes */1000")], .restart), Answer(206, [right, right], .restart),
        Answer(206, [("Content-Type", "multipart/byteranges; boundary=b")], .restart),
        Answer(206, [right, ("Content-Length", "599")], .restart),
        Answer(206, [right, ("Content-Length", "x")], .restart),
        Answer(206, [right, ("Content-Encoding", "gzip")], .restart),
        // Nonsense.
        Answer(206, [("Content-Range", "bytes 400-999/999")], .restart),
        Answer(206, [("Content-Range", "bytes 999-400/1000")], .restart),
        Answer(206, [("Content-Range", "items 400-999/1000")], .restart),
        Answer(206, [("Content-Range", "bytes 400-9223372036854775807/*")], .restart),
        Answer(206, [("Content-Range", "bytes 400-99999999999999999999/99999999999999999999")], .restart),
        Answer(206, [("Content-Range", "bytes -999/1000")], .restart), Answer(206, [("Content-Range", "")], .restart),
        Answer(206, [("Content-Range", "bytes +400-999/1000")], .restart),
        // RES-6: regardless of the range.
        Answer(416, [], .restart), Answer(416, [("Content-Range", "bytes */400")], .restart),
        Answer(416, [("Content-Range", "bytes */1000")], .restart),
        // RES-5, RES-6
        Answer(200, [tag], .replace), Answer(200, [right], .replace), Answer(204, [], .replace),
        Answer(302, [], .replace), Answer(401, [], .replace), Answer(404, [], .replace), Answer(412, [], .replace),
        Answer(500, [], .replace), Answer(503, [], .replace),
    ]

    @Test func responsesToResumedRequest() throws {
        let point = try point()
        let wrong = Self.answers.filter {
            ResumeRules.decide(status: $0.status, fields: HTTPFields($0.fields), of: point, mayRestart: true)
                != $0.expected
        }
        #expect(wrong.map { "\($0.status) \($0.fields)" } == [])
    }

    // RES-7: once.
    @Test func restartHappensOnce() throws {
        let point = try point()
        for answer in Self.answers {
            let decision = ResumeRules.decide(
                status: answer.status, fields: HTTPFields(answer.fields), of: point, mayRestart: false)
            if answer.expected == .restart {
                guard case .fail(let error) = decision else {
                    Issue.record("\(answer.status) \(answer.fields) gives \(decision)")
                    continue
                }
                #expect(error.code == -1011)
            } else {
                #expect(decision == answer.expected)
            }
        }
    }

    // Every status has a meaning.
    @Test func everyStatus() throws {
        let point = try point()
        let decisions = (100...999).map {
            ResumeRules.decide(status: $0, fields: HTTPFields(), of: point, mayRestart: true)
        }
        #expect(zip(100..., decisions).filter { $0.1 != .replace }.map(\.0) == [206, 416])
        #expect(decisions.filter { $0 == .restart }.count == 2)
    }

    @Test func unknownTotalLength() throws {
        let point = try point(total: nil)
        func decide(_ range: String) -> ResumeDecision {
            ResumeRules.decide(
                status: 206, fields: HTTPFields([("Content-Range", range)]), of: point, mayRestart: true)
        }
        #expect(decide("bytes 400-999/*") == .append(offset: 400, length: 600, total: nil))
        #expect(decide("bytes 400-999/1000") == .append(offset: 400, length: 600, total: 1000))
        #expect(decide("bytes 400-998/1000") == .restart)
    }

    @Test func datesAsValidators() throws {
        let point = try point(.lastModified(Self.modified.1))
        func decide(_ date: String) -> ResumeDecision {
            ResumeRules.decide(
                status: 206, fields: HTTPFields([Self.right, ("Last-Modified", date)]), of: point, mayRestart: true)
        }
        #expect(decide(Self.modified.1) == .append(offset: 400, length: 600, total: 1000))
        #expect(decide("Sunday, 06-Nov-94 08:49:37 GMT") == .append(offset: 400, length: 600, total: 1000))
        #expect(decide("Sun, 06 Nov 1994 08:49:38 GMT") == .restart)
        #expect(decide("never") == .restart)
    }

    // RFC 9110 §14.4
    @Test(
        arguments: [
            ("bytes 42-1233/1234", 42, 1233, 1234), ("bytes 42-1233/*", 42, 1233, nil),
            ("bytes */1234", nil, nil, 1234),
            ("bytes 0-0/1", 0, 0, 1), ("bytes\t0-0/1", 0, 0, 1),
        ] as [(String, Int64?, Int64?, Int64?)])
    func contentRanges(value: String, first: Int64?, last: Int64?, total: Int64?) {
        let bytes = first.flatMap { first in last.map { first...$0 } }
        #expect(ContentRange(value) == ContentRange(bytes: bytes, total: total))
    }

    @Test(arguments: [
        "", "bytes", "bytes 1-2", "bytes */*", "bytes 2-1/5", "bytes 1-5/5", "bytes 1-2/3/4", "bytes=1-2/3", "1-2/3",
        "bytes 1 -2/3", "bytes a-b/c",
    ])
    func invalidContentRange(value: String) {
        #expect(ContentRange(value) == nil)
    }
}
