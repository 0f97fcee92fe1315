import Foundation
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import Testing

@testable import LoadingPipeline

/// The messages of transfers between processes (BG-5).
@Suite struct TransferMessageTests {
    private func roundTrip<Content: Codable & Equatable & Sendable>(_ content: Content) throws {
        let data = try TransferMessage(content).encoded()
        #expect(try TransferMessage<Content>(decoding: data).content == content)
    }

    private static var download: TransferResumption {
        get throws {
            let point = try #require(
                DownloadResumePoint(
                    originalURL: "http://a/", url: "http://b/", requestFields: HTTPFields([("A", "ä")]),
                    validator: .entityTag("\"1\""), bytesReceived: 5, total: 10, fileName: "f"))
            return .download(TransferResumption.Download(point, path: "/folder/f"))
        }
    }

    private static var upload: TransferResumption {
        get throws {
            let point = try #require(
                UploadResumePoint(
                    method: "POST", url: "http://a/", fields: HTTPFields([("A", "1")]), length: 10,
                    uploadURL: "http://a/up", limits: UploadLimits(maximumSize: 20)))
            return .upload(
                TransferResumption.Upload(
                    StoppedUpload(point: point, file: FileFacts(length: 10, modified: 1_000_000_007))))
        }
    }

    // BG-5
    @Test("every value of a request arrives") func request() throws {
        var request = TransferRequest(url: "https://example.com/", folder: "/tmp")
        try roundTrip(request)
        request.identifier = 7
        request.taskDescription = "a task"
        request.method = "PUT"
        request.fields = [TransferField("Accept", "*/*"), TransferField("accept", "é")]
        request.bodyFile = "/body"
        request.totalTimeout = nil
        request.waitsForConnectivity = false
        request.allowsCellularAccess = false
        request.allowsExpensiveAccess = false
        request.allowsConstrainedAccess = false
        request.trafficClass = 46
        request.isMultipath = true
        request.requiresDNSSEC = true
        request.assumesHTTP3 = true
        request.allowsEarlyData = true
        request.archive = Data("archive".utf8)
        request.priority = 1
        request.isDiscretionary = true
        request.earliestBegin = 1_700_000_000.5
        request.usesCookies = false
        request.partition = "jar"
        request.cachePolicy = CachePolicy.returnCacheDataDontLoad.rawValue
        for resumption in [try Self.download, try Self.upload] {
            request.resumption = resumption
            try roundTrip(request)
        }
    }

    // BG-5, CONN-7, C-32
    @Test("what the load gets of a request", arguments: [false, true]) func load(isSet: Bool) throws {
        var request = TransferRequest(url: "https://example.com/", folder: "/tmp")
        #expect(try !LoadRequest(request, on: EventLoops.assign()).assumesHTTP3)
        request.trafficClass = 46
        (request.requiresDNSSEC, request.partition) = (isSet, "jar")
        (request.assumesHTTP3, request.allowsEarlyData) = (isSet, isSet)
        let load = try LoadRequest(request, on: EventLoops.assign())
        #expect(load.service.trafficClass == 46 && load.service.requiresDNSSEC == isSet)
        #expect((load.partition, load.assumesHTTP3, load.allowsEarlyData) == ("jar", isSet, isSet))
    }

    // BG-5: the journal of an earlier version has no such values
    @Test("a request of an earlier version") func earlierRequest() throws {
        var request = TransferRequest(url: "https://example.com/", folder: "/tmp")
        let data = try JSONEncoder().encode(request)
        #expect(!String(decoding: data, as: UTF8.self).contains("HTTP3"))
        (request.assumesHTTP3, request.allowsEarlyData) = (nil, nil)
        #expect(try JSONDecoder().decode(TransferRequest.self, from: data) == request)
    }

    // BG-6
    @Test("every report arrives") func reports() throws {
        let head = TransferHead(
            ResponseHead(status: 200, version: .http11, fields: HTTPFields([("ETag", "\"1\"")]), byteCount: 9),
            url: "http://a/")
        let space = ProtectionSpace(kind: .proxy(.https), host: "h", port: 3128, realm: "r", scheme: .digest)
        let question = AuthenticationQuestion(
            space: space, fromURL: ("user", nil), refused: nil, failures: 2, isQuiet: false)
        let facts = ConnectionFacts(
            protocolName: "h2", isReused: true, isProxied: false, localAddress: "::1", localPort: 1, remoteAddress: nil,
            remotePort: nil, tlsVersion: 0x304, tlsCipherSuite: 0x1301)
        let metrics = TransferMetrics(
            created: 1, createdWall: 2.5,
            events: [
                LoadEvent(time: 1, kind: .fetchStarted(.first)),
                LoadEvent(time: 2, kind: .connectionAssigned(facts)),
                LoadEvent(time: 3, kind: .responseEnded(bytes: 4, decoded: 5)),
            ])
        var progress = TransferProgress()
        (progress.sent, progress.received) = (1, 2)
        var untrusted = LoadError(code: -1202, cause: .tls(code: 18, text: "self-signed"))
        untrusted.untrustedPeer = UntrustedPeer(host: "h", certificates: [[1, 2], [3]], stapledResponse: [4])
        #expect(TransferFailure(untrusted).untrustedPeer?.value == untrusted.untrustedPeer)
        let events: [TransferReport.Event] = [
            .waitingForConnectivity, .upgraded(url: "https://a/"), .redirected(head, url: "http://b/"),
            .challenge(TransferChallenge(question)), .challengeWithdrawn,
            .response(head, expectedLength: -1, resumedOffset: 5), .progress(progress),
            .metrics(metrics), .finished(file: "/f"),
            .failed(TransferFailure(.timedOut), nil), .failed(TransferFailure(.cancelled), try Self.download),
            .failed(TransferFailure(.networkConnectionLost), try Self.upload), .failed(TransferFailure(untrusted), nil),
        ]
        for (index, event) in events.enumerated() {
            try roundTrip(TransferReport(number: UInt64(index + 1), event: event))
        }
        #expect(events.filter(\.isEnd).count == 5)
    }

    // BG-11
    @Test("every answer arrives") func answers() throws {
        let decisions: [TransferAnswer.Decision] = [
            .credential(user: "u", password: "p", isKept: true), .defaultHandling, .rejectProtectionSpace, .cancel,
            .trust(isEvaluated: true), .distrust, .identity(certificates: [Data([1]), Data([2])], key: Data([3])),
        ]
        for decision in decisions { try roundTrip(TransferAnswer(to: 3, decision: decision)) }
    }

    // RES-8, RES-13
    @Test("a place to resume from is the same afterwards, and nonsense is none") func resumptions() throws {
        guard case .download(var download) = try Self.download, case .upload(var upload) = try Self.upload else {
            Issue.record("other cases")
            return
        }
        #expect(download.stopped?.point.bytesReceived == 5 && download.stopped?.point.validator == .entityTag("\"1\""))
        #expect(upload.stopped?.point.limits.maximumSize == 20 && upload.stopped?.file?.modified == 1_000_000_007)
        download.bytesReceived = -1
        #expect(download.stopped == nil)
        upload.uploadURL = "nowhere"
        #expect(upload.stopped == nil)
    }

    // BG-5, BG-11: what is logged has no secret
    @Test("no description has a password, a secret field, or the place of an upload") func descriptions() throws {
        let url = "https://user:sesame@example.com/"
        var request = TransferRequest(url: url, folder: "/tmp")
        request.fields = [TransferField("Authorization", "Basic sesame"), TransferField("Accept", "text/plain")]
        request.resumption = .download(
            TransferResumption.Download(
                path: "/f", originalURL: url, url: url, fields: request.fields, entityTag: nil, lastModified: nil,
                bytesReceived: 5, total: nil))
        let upload = TransferResumption.upload(
            TransferResumption.Upload(
                method: "PUT", url: url, fields: request.fields, length: 10, uploadURL: "https://a/sesame",
                maximumSize: nil, maximumAppendSize: nil, maximumAge: nil, fileLength: nil, fileModified: nil))
        let head = TransferHead(
            ResponseHead(
                status: 200, version: .http11, fields: HTTPFields([("Set-Cookie", "a=sesame")]), byteCount: 20),
            url: url)
        var failure = TransferFailure(.timedOut)
        failure.url = url
        let events: [TransferReport.Event] = [
            .upgraded(url: url), .redirected(head, url: url), .response(head, expectedLength: 1, resumedOffset: 0),
            .failed(failure, upload),
        ]
        let answer = TransferAnswer(
            to: 3, decision: .credential(user: "user", password: "sesame", isKept: true))
        let identity = TransferAnswer(
            to: 3, decision: .identity(certificates: [Data("user".utf8)], key: Data("sesame".utf8)))
        var shown = ""
        dump(identity, to: &shown)
        #expect(shown.contains("identity") && !shown.contains("6 bytes"))
        let values: [Any] = [request, TransferMessage(request), answer, upload] + events.map { $0 as Any }
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("sesame") && text.contains("user"), "\(text)")
            }
        }
        #expect("\(request)".contains("Accept: text/plain") && "\(request)".contains("Authorization: (hidden)"))
        #expect("\(answer)".contains("credential"))
    }

    // BG-5
    @Test("a message of another version is not read, whatever it has") func version() throws {
        let data = Data(#"{"version":2,"content":{"else":true}}"#.utf8)
        #expect(throws: TransferFormat.UnknownVersion(version: 2)) {
            try TransferMessage<TransferRequest>(decoding: data)
        }
        let known = try TransferMessage(TransferRequest(url: "http://a/", folder: "/")).encoded()
        #expect(String(decoding: known, as: UTF8.self).contains(#""version":1"#))
    }
}
