import LoadingSemantics
import Testing

@Suite struct ResumableUploadTests {
    private static let url = "https://a.example/files"
    private static let version = ("Upload-Draft-Interop-Version", "8")
    private static let offer = HTTPFields([version, ("Location", "/uploads/1")])
    private static let uploadURL = "https://a.example/uploads/1"
    private static let own = [("Content-Type", "image/png"), ("Authorization", "Bearer x"), ("X-Own", "1")]

    private func upload(_ length: Int64? = 1000) -> ResumableUpload {
        ResumableUpload(method: "POST", url: Self.url, fields: HTTPFields(Self.own), length: length)
    }

    /// An upload that was started, with resumption offered.
    private func offered(_ length: Int64? = 1000, limits: String? = nil) -> ResumableUpload {
        var upload = upload(length)
        _ = upload.start()
        var fields = Self.offer
        if let limits { fields.append("Upload-Limit", limits) }
        #expect(upload.received104(fields, from: Self.url) == nil)
        return upload
    }

    private func retrieval() -> UploadRequest {
        UploadRequest(
            purpose: .offsetRetrieval, method: "HEAD", url: Self.uploadURL,
            fields: HTTPFields([("Authorization", "Bearer x"), ("X-Own", "1"), Self.version]), body: nil)
    }

    private func append(from offset: Int64, _ length: Int64?, isLast: Bool = true) -> UploadStep {
        .send(
            UploadRequest(
                purpose: .append, method: "PATCH", url: Self.uploadURL,
                fields: HTTPFields([
                    ("Authorization", "Bearer x"), ("X-Own", "1"), Self.version,
                    ("Upload-Complete", isLast ? "?1" : "?0"), ("Upload-Offset", String(offset)),
                    ("Content-Type", "application/partial-upload"),
                ]), body: .init(offset: offset, length: length)), pause: 0)
    }

    private func state(offset: Int64, isComplete: Bool = false) -> HTTPFields {
        HTTPFields([("Upload-Offset", String(offset)), ("Upload-Complete", isComplete ? "?1" : "?0")])
    }

    // MARK: The wire

    // RES-14, RES-15
    @Test(arguments: [1000, nil] as [Int64?])
    func creation(length: Int64?) {
        var upload = upload(length)
        let added = [Self.version, ("Upload-Complete", "?1")] + (length == nil ? [] : [("Upload-Length", "1000")])
        #expect(
            upload.start()
                == UploadRequest(
                    purpose: .creation, method: "POST", url: Self.url, fields: HTTPFields(Self.own + added),
                    body: .init(offset: 0, length: length)))
        #expect(upload.received(status: 201, fields: HTTPFields()) == .deliver)
    }

    // RES-16, RES-17
    @Test func resumption() {
        var upload = offered()
        #expect(upload.interrupted() == .send(retrieval(), pause: 0))
        #expect(upload.received(status: 204, fields: state(offset: 400)) == append(from: 400, 600))
        #expect(upload.acknowledged == 400)
        let done = HTTPFields([("Upload-Complete", "?1")])
        #expect(upload.received(status: 200, fields: done) == .deliver)
        #expect(upload.resumePoint == nil)
        #expect(upload.cancellation == nil)
    }

    // RES-16
    @Test func cancellation() {
        #expect(upload().cancellation == nil)
        var expected = retrieval()
        expected.purpose = .cancellation
        expected.method = "DELETE"
        #expect(offered().cancellation == expected)
    }

    // RES-18
    @Test func eligibleRequests() {
        let methods = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT", "POST", "PUT", "PATCH", "QUERY"]
        #expect(
            methods.filter { ResumableUpload.isPossible(method: $0, fields: HTTPFields(Self.own)) }
                == ["POST", "PUT", "PATCH", "QUERY"])
        for name in ["upload-complete", "Upload-Incomplete", "Upload-Offset", "Upload-Draft-Interop-Version"] {
            #expect(!ResumableUpload.isPossible(method: "POST", fields: HTTPFields([(name, "1")])))
        }
    }

    // MARK: The offer

    // RES-14, RES-15: without an offer in our version the upload is like any other.
    @Test(
        arguments: [
            [("Location", "/uploads/1")], [("Upload-Draft-Interop-Version", "8")],
            [("Upload-Draft-Interop-Version", "7"), ("Location", "/uploads/1")],
            [("Upload-Draft-Interop-Version", "x"), ("Location", "/uploads/1")],
            [("Upload-Draft-Interop-Version", "8"), ("Location", "http://a.example/uploads/1")],
            [("Upload-Draft-Interop-Version", "8"), ("Location", "ftp://a.example/")],
            [("Upload-Draft-Interop-Version", "8"), ("Location", "")],
        ] as [[(String, String)]])
    func responsesWithoutOffer(fields: [(String, String)]) {
        var upload = upload()
        _ = upload.start()
        #expect(upload.received104(HTTPFields(fields), from: Self.url) == nil)
        #expect(upload.resumePoint == nil)
        #expect(upload.interrupted() == .giveUp)
    }

    @Test func laterOffersAreIgnored() {
        var upload = offered()
        _ = upload.received104(HTTPFields([Self.version, ("Location", "/uploads/2")]), from: Self.url)
        #expect(upload.resumePoint?.uploadURL == Self.uploadURL)
    }

    // RES-14, R-10: a body goes to another origin only if its client agrees
    @Test(arguments: ["https://b.example/u", "//a.example:8443/u", "https://sub.a.example/u"])
    func offerOfAnotherOriginNeedsApproval(location: String) throws {
        var upload = ResumableUpload(
            method: "POST", url: Self.url,
            fields: HTTPFields(Self.own + [("Cookie", "a=b"), ("Origin", "https://a.example")]), length: 1000)
        _ = upload.start()
        guard
            case .askToMove(let url) = upload.received104(
                HTTPFields([Self.version, ("Location", location)]), from: Self.url)
        else {
            Issue.record("the approval was not requested")
            return
        }
        #expect(url == (location.hasPrefix("//") ? "https:" : "") + location)
        #expect(upload.resumePoint == nil)
        // Not twice.
        #expect(upload.received104(HTTPFields([Self.version, ("Location", location)]), from: Self.url) == nil)
        var refused = upload
        #expect(refused.interrupted() == .giveUp)
        upload.move(to: url)
        guard case .send(let request, _) = upload.interrupted() else {
            Issue.record("not resumed")
            return
        }
        #expect(
            request
                == UploadRequest(
                    purpose: .offsetRetrieval, method: "HEAD", url: url,
                    fields: HTTPFields([("X-Own", "1"), Self.version]), body: nil))
    }

    /// The number of requests until the upload is abandoned, if the server keeps a thousandth of each.
    private func requestCount(length: Int64, isAnswered: Bool) -> Int {
        var upload = offered(length)
        var count = 1
        upload.sentBody(length)
        for round in 1...5000 {
            let offset = Int64(round) * max(length / 1000, 1)
            let step: UploadStep
            if isAnswered {
                step = upload.received(status: 201, fields: state(offset: offset))
            } else {
                _ = upload.interrupted()
                step = upload.received(status: 204, fields: state(offset: offset))
            }
            guard case .send(let request, _) = step, let body = request.body else { return count }
            count += 1
            upload.sentBody(length - body.offset)
        }
        return count
    }

    // RES-16, RES-17: slow progress does not cause a thousand requests
    @Test(arguments: [1_000, 10_000_000] as [Int64], [true, false])
    func slowOffsetProgressIsLimited(length: Int64, isAnswered: Bool) {
        #expect(requestCount(length: length, isAnswered: isAnswered) == 65)
    }

    // RES-17: a network that loses connections repeatedly, with some progress each time
    @Test func manyConnectionsThatCarryALittle() {
        let length: Int64 = 1_000_000_000
        var upload = offered(length)
        upload.sentBody(3_000_000)
        for round in 1..<500 {
            _ = upload.interrupted()
            // Most of the bytes that the kernel accepted were lost.
            let offset = Int64(round) * 1_000_000
            #expect(
                upload.received(status: 204, fields: state(offset: offset)) == append(from: offset, length - offset))
            upload.sentBody(3_000_000)
        }
    }

    @Test func offersAreResolvedAgainstTheirURL() {
        var upload = upload()
        _ = upload.start()
        _ = upload.received104(HTTPFields([Self.version, ("Location", "../u?1")]), from: "https://b.example/x/y/z")
        #expect(upload.resumePoint?.uploadURL == "https://b.example/x/u?1")
        // Fields for one origin are not sent to another.
        guard case .send(let request, _) = upload.interrupted() else {
            Issue.record("not resumed")
            return
        }
        #expect(request.fields == HTTPFields([("X-Own", "1"), Self.version]))
    }

    // For RES-19, which the caller implements.
    @Test func progress() {
        var upload = offered()
        _ = upload.received104(HTTPFields([Self.version, ("Upload-Offset", "300")]), from: Self.url)
        _ = upload.received104(HTTPFields([Self.version, ("Upload-Offset", "200")]), from: Self.url)
        _ = upload.received104(HTTPFields([Self.version, ("Upload-Offset", "-1")]), from: Self.url)
        _ = upload.received104(HTTPFields([("Upload-Offset", "900")]), from: Self.url)
        #expect(upload.acknowledged == 300)
    }

    // MARK: Answers

    struct Answer: Sendable {
        let status: Int
        let fields: [(String, String)]
        let expected: String

        init(_ status: Int, _ fields: [(String, String)], _ expected: String) {
            self.status = status
            self.fields = fields
            self.expected = expected
        }
    }

    private static let complete = ("Upload-Complete", "?1")
    private static let incomplete = ("Upload-Complete", "?0")

    private static func at(_ offset: Int) -> (String, String) { ("Upload-Offset", String(offset)) }

    private func text(_ step: UploadStep) -> String {
        switch step {
        case .send(let request, let pause):
            let body = request.body.map { " \($0.offset)+\($0.length.map(String.init) ?? "")" } ?? ""
            return request.method + body + (pause == 0 ? "" : " in \(pause)")
        case .deliver: return "deliver"
        case .giveUp: return "give up"
        case .fail(let error): return "fail \(error.code)"
        case .askToMove(let url): return "ask \(url)"
        }
    }

    // RES-16
    @Test(arguments: [
        Answer(200, [], "deliver"), Answer(200, [complete], "deliver"), Answer(302, [], "deliver"),
        Answer(400, [], "deliver"), Answer(413, [], "deliver"), Answer(500, [], "deliver"),
        Answer(503, [complete], "deliver"), Answer(502, [], "HEAD"), Answer(503, [], "HEAD"), Answer(504, [], "HEAD"),
        Answer(201, [incomplete, at(300)], "PATCH 300+700"), Answer(201, [incomplete], "HEAD"),
        Answer(413, [("Upload-Limit", "max-append-size=100")], "HEAD"),
        Answer(413, [("Upload-Limit", "max-size=100")], "fail -1103"),
    ])
    func responsesToCreation(answer: Answer) {
        var upload = offered()
        #expect(text(upload.received(status: answer.status, fields: HTTPFields(answer.fields))) == answer.expected)
    }

    @Test func withoutOfferResponsesAreForTask() {
        for status in [200, 413, 500, 503] {
            var upload = upload()
            _ = upload.start()
            #expect(upload.received(status: status, fields: HTTPFields([Self.incomplete])) == .deliver)
        }
    }

    // RES-16
    @Test(arguments: [
        Answer(204, [at(400), incomplete], "PATCH 400+600"), Answer(200, [at(0)], "PATCH 0+1000"),
        Answer(204, [at(1000), incomplete], "PATCH 1000+0"), Answer(204, [at(1000), complete], "deliver"),
        Answer(204, [at(1001), incomplete], "fail -1011"), Answer(204, [], "POST 0+1000"),
        Answer(204, [("Upload-Offset", "x")], "POST 0+1000"), Answer(204, [("Upload-Offset", "-5")], "POST 0+1000"),
        Answer(404, [], "POST 0+1000"), Answer(410, [], "POST 0+1000"), Answer(401, [], "deliver"),
        Answer(403, [], "deliver"), Answer(407, [], "deliver"), Answer(400, [], "give up"), Answer(302, [], "give up"),
        Answer(423, [], "HEAD in 1"), Answer(429, [], "HEAD in 1"),
        Answer(500, [], "HEAD in 1"), Answer(503, [], "HEAD in 1"),
    ])
    func responsesToOffsetRetrieval(answer: Answer) {
        var upload = offered()
        _ = upload.interrupted()
        #expect(text(upload.received(status: answer.status, fields: HTTPFields(answer.fields))) == answer.expected)
    }

    // RES-16
    @Test(arguments: [
        Answer(200, [complete], "deliver"), Answer(500, [complete], "deliver"), Answer(204, [], "deliver"),
        Answer(204, [incomplete, at(700)], "PATCH 700+300"), Answer(204, [incomplete], "PATCH 1000+0"),
        Answer(409, [at(700)], "PATCH 700+300"), Answer(409, [at(100)], "PATCH 100+900"), Answer(409, [], "HEAD"),
        Answer(409, [at(400)], "HEAD"), Answer(404, [], "POST 0+1000"), Answer(410, [], "POST 0+1000"),
        Answer(413, [], "deliver"), Answer(413, [("Upload-Limit", "max-append-size=100")], "HEAD"),
        Answer(423, [], "HEAD"), Answer(503, [], "HEAD"), Answer(400, [], "deliver"), Answer(500, [], "deliver"),
    ])
    func responsesToAppend(answer: Answer) {
        var upload = offered()
        _ = upload.interrupted()
        _ = upload.received(status: 204, fields: state(offset: 400))
        #expect(text(upload.received(status: answer.status, fields: HTTPFields(answer.fields))) == answer.expected)
    }

    // MARK: Limits

    // RES-21
    @Test func appendsAreSplit() {
        var upload = offered(limits: "max-append-size=400, max-age=3600, other=\"x\"")
        #expect(upload.limits == UploadLimits(maximumAppendSize: 400, maximumAge: 3600))
        _ = upload.interrupted()
        #expect(upload.received(status: 204, fields: state(offset: 50)) == append(from: 50, 400, isLast: false))
        #expect(upload.received(status: 204, fields: HTTPFields()) == append(from: 450, 400, isLast: false))
        let limits = HTTPFields([Self.incomplete, ("Upload-Offset", "700"), ("Upload-Limit", "max-append-size=200")])
        #expect(upload.received(status: 204, fields: limits) == append(from: 700, 200, isLast: false))
        #expect(upload.received(status: 204, fields: HTTPFields()) == append(from: 900, 100))
        #expect(upload.received(status: 200, fields: HTTPFields([Self.complete])) == .deliver)
    }

    // RES-20, RES-21: a stream whose end shows when it comes.
    @Test func streamsAreSplit() {
        var upload = offered(nil, limits: "max-append-size=400")
        _ = upload.interrupted()
        #expect(upload.received(status: 204, fields: state(offset: 50)) == append(from: 50, 400, isLast: false))
        #expect(upload.received(status: 204, fields: HTTPFields()) == append(from: 450, 400, isLast: false))
        upload.bodyEnded(at: 500)
        #expect(upload.received(status: 204, fields: HTTPFields()) == append(from: 500, 0))
        #expect(upload.received(status: 200, fields: HTTPFields()) == .deliver)
    }

    @Test func streamsWithoutSizeLimit() {
        var upload = offered(nil)
        _ = upload.interrupted()
        #expect(upload.received(status: 204, fields: state(offset: 50)) == append(from: 50, nil))
    }

    // RES-21
    @Test(arguments: ["max-size=999", "max-size=0"])
    func tooLarge(limits: String) {
        var upload = upload()
        _ = upload.start()
        var fields = Self.offer
        fields.append("Upload-Limit", limits)
        #expect(upload.received104(fields, from: Self.url) == .fail(.resourceExceedsMaximum))
        // The upload resource is deleted, and not retried.
        #expect(upload.cancellation?.url == Self.uploadURL)
        #expect(upload.resumePoint == nil)
    }

    @Test(arguments: [
        "max-size=1000", "max-size=x", "max-size=5.5", "max-size", "max-append-size=0", "max-size=-1",
        "max-size=10, min-size=?1", "max-size=10,", "other=1",
    ])
    func invalidLimitsAreIgnored(limits: String) {
        #expect(offered(limits: limits).resumePoint != nil)
    }

    // MARK: Limits

    // RES-17
    @Test func pauses() {
        var upload = offered()
        let pauses = (0..<10).map { _ in
            if case .send(_, let pause) = upload.interrupted() { pause } else { -1 }
        }
        #expect(pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
        // A byte of progress resets the pauses.
        _ = upload.received(status: 204, fields: state(offset: 1))
        #expect(upload.interrupted() == .send(retrieval(), pause: 0))
        _ = upload.received(status: 204, fields: state(offset: 1))
        #expect(upload.interrupted() == .send(retrieval(), pause: 1))
    }

    @Test func finalRejectionIsResult() {
        for status in [503, 423] {
            var upload = offered()
            _ = upload.interrupted()
            let steps = (0..<4).map { _ in
                _ = upload.received(status: 204, fields: state(offset: 0))
                return text(upload.received(status: status, fields: HTTPFields()))
            }
            #expect(steps == ["HEAD in 1", "HEAD in 2", "HEAD in 4", "deliver"])
        }
        // It requests the same offset repeatedly.
        for (status, fields) in [(409, [Self.at(0)]), (204, [Self.incomplete, Self.at(0)])] {
            var upload = offered()
            _ = upload.interrupted()
            _ = upload.received(status: 204, fields: state(offset: 5))
            let steps = (0..<4).map { number in
                text(
                    upload.received(
                        status: status, fields: HTTPFields(number % 2 == 0 ? fields : [Self.incomplete, Self.at(5)])))
            }
            #expect(steps.last == "deliver")
        }
        // It forgets the upload every time.
        var upload = offered()
        let steps = (0..<4).map { _ in
            _ = upload.interrupted()
            defer { _ = upload.received104(Self.offer, from: Self.url) }
            return text(upload.received(status: 404, fields: HTTPFields()))
        }
        #expect(steps == ["POST 0+1000", "POST 0+1000 in 1", "POST 0+1000 in 2", "give up"])
    }

    // RES-17: a server that says 104 and refuses, for ever
    @Test func interimResponsesAreNoProgress() {
        var upload = offered()
        var steps = [text(upload.received(status: 503, fields: HTTPFields()))]
        for offset in 1...10 where steps.last != "deliver" {
            _ = upload.received(status: 204, fields: state(offset: 0))
            _ = upload.received104(HTTPFields([Self.version, Self.at(offset)]), from: Self.url)
            steps.append(text(upload.received(status: 503, fields: HTTPFields())))
        }
        #expect(steps == ["HEAD", "HEAD in 1", "HEAD in 2", "deliver"])
        // More than there is.
        _ = upload.received104(HTTPFields([Self.version, Self.at(1001)]), from: Self.url)
        #expect(upload.acknowledged <= 1000)
    }

    // MARK: Resume data

    // RES-13
    @Test func resumeData() throws {
        var first = offered(limits: "max-append-size=400")
        _ = first.interrupted()
        _ = first.received(status: 204, fields: state(offset: 300))
        let point = try #require(first.resumePoint)
        let kept = HTTPFields([("Content-Type", "image/png"), ("X-Own", "1")])
        #expect(
            point
                == UploadResumePoint(
                    method: "POST", url: Self.url, fields: kept, length: 1000, uploadURL: Self.uploadURL,
                    limits: UploadLimits(maximumAppendSize: 400)))

        var second = ResumableUpload(resuming: point, fields: kept, of: Self.url)
        let request = second.start()
        #expect(request.method == "HEAD")
        #expect(request.url == Self.uploadURL)
        #expect(request.fields == HTTPFields([("X-Own", "1"), Self.version]))
        #expect(text(second.received(status: 204, fields: state(offset: 350))) == "PATCH 350+400")
    }

    // RES-10, RES-13: the secrets are those of the request that resumes, and stay at its origin
    @Test(arguments: [(url, "Bearer y"), ("https://b.example/files", nil)] as [(String, String?)])
    func secretsAfterResumption(of url: String, secret: String?) throws {
        let point = try #require(offered().resumePoint)
        let own = HTTPFields([("X-Own", "2"), ("Authorization", "Bearer y"), ("X-Session", "3")])
        var second = ResumableUpload(resuming: point, fields: own, of: url)
        let fields = second.start().fields
        #expect(fields.firstValue("Authorization") == secret)
        #expect(fields.firstValue("X-Own") == (secret == nil ? "1" : "2"))
        #expect(fields.firstValue("X-Session") == (secret == nil ? nil : "3"))
        #expect(second.resumePoint?.fields.contains("Authorization") == false)
    }

    // RES-13: nil unless the server supports the protocol.
    @Test func noResumeData() {
        var upload = upload()
        #expect(upload.resumePoint == nil)
        _ = upload.start()
        #expect(upload.resumePoint == nil)
        func isRead(_ method: String, _ url: String, _ length: Int64?, _ uploadURL: String) -> Bool {
            UploadResumePoint(
                method: method, url: url, fields: HTTPFields(), length: length, uploadURL: uploadURL,
                limits: UploadLimits()) != nil
        }
        #expect(isRead("PUT", Self.url, nil, Self.uploadURL))
        #expect(!isRead("GET", Self.url, nil, Self.uploadURL))
        #expect(!isRead("PUT", "file:///x", nil, Self.uploadURL))
        #expect(!isRead("PUT", Self.url, -1, Self.uploadURL))
        #expect(!isRead("PUT", Self.url, nil, "x"))
    }

    /// Appends until the upload ends: returns the bytes that were sent, and the number of requests.
    ///
    /// - Parameter kept: What the server keeps of a request that has so many bytes, and the limit that it announces.
    private func bytesSent(
        of length: Int64, _ kept: (_ request: Int, _ count: Int64) -> (Int64, limit: String?)
    ) -> (bytes: Int64, requests: Int) {
        var upload = offered(length)
        var bytes: Int64 = 0
        var offset: Int64 = 0
        var count = length
        for number in 1...20_000 {
            upload.sentBody(count)
            bytes += count
            let (accepted, limit) = kept(number, count)
            offset += min(accepted, count)
            var fields = state(offset: offset)
            if let limit { fields.append("Upload-Limit", limit) }
            guard case .send(let request, _) = upload.received(status: number == 1 ? 201 : 204, fields: fields),
                let next = request.body?.length
            else { return (bytes, number) }
            count = next
        }
        return (bytes, 20_000)
    }

    // RES-17: a server that keeps a byte of each request, with a good one-byte request in between
    @Test(arguments: [2, 10, 60]) func creepingWithGoodRequests(goodEach: Int) {
        let (bytes, _) = bytesSent(of: 100_000) { number, _ in
            (1, limit: (number + 1) % goodEach == 0 ? "max-append-size=1" : "max-append-size=1000000000")
        }
        #expect(bytes < 70 * 100_000)
    }

    // RES-17: a server that takes a little at a time, and all of it, is followed to the end
    @Test func smallRequestsAreNoWaste() {
        let (bytes, requests) = bytesSent(of: 1000) { number, _ in (number == 1 ? 0 : 10, limit: "max-append-size=10") }
        #expect(bytes == 2000)
        // The server never says that it has everything, so a few empty requests follow.
        #expect((101..<110).contains(requests))
    }
}
