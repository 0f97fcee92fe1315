import LoadingConnections
import LoadingProtocols
import LoadingSemantics
import Testing

@testable import LoadingPipeline

@Suite struct UploadResumptionStageTests {
    private func request(_ text: String) throws -> LoadRequest {
        LoadRequest(
            url: try HTTPURL(text), urlText: text, method: "POST",
            fields: HTTPFields([("Authorization", "secret")]), body: .none, idleTimeout: 60, totalTimeout: 60,
            waitsForConnectivity: false, priority: 0.5)
    }

    /// What an upload goes on with after its request went to `upgraded` and the connection was lost.
    private func followUp(
        of text: String, upgradedTo upgraded: String, with fields: HTTPFields? = nil
    ) throws -> UploadRequest? {
        let stage = UploadResumptionStage(try request(text), resuming: nil)
        stage.isUpgraded(to: try request(upgraded))
        var sent = try request(upgraded)
        if let fields { sent.fields = fields }
        try stage.willSend(5, of: nil, with: sent)
        let fields = HTTPFields([("Upload-Draft-Interop-Version", "8"), ("Location", "/uploads/1")])
        #expect(stage.received104(fields, from: upgraded) == nil)
        guard case .send(let next, pause: 0) = stage.interrupted() else { return nil }
        return next
    }

    // TLS-7, RES-19
    @Test("an upload that was upgraded goes on where it went, and is still the user's") func upgraded() throws {
        let next = try followUp(of: "http://a.example/x", upgradedTo: "https://a.example/x")
        #expect(next?.url == "https://a.example/uploads/1")
        #expect(next?.fields.firstValue("Authorization") == "secret")
    }

    // what a redirect, or the delegate, has removed does not go there later
    @Test("an upload goes on with the fields of the request that was redirected") func redirectedFields() throws {
        let next = try followUp(
            of: "https://a.example/x", upgradedTo: "https://b.example/y", with: HTTPFields([("X-Kept", "1")]))
        #expect(next?.url == "https://b.example/uploads/1")
        #expect(next?.fields.contains("Authorization") == false)
        #expect(next?.fields.firstValue("X-Kept") == "1")
        // What the delegate has added for the target is for its origin.
        let added = HTTPFields([("Authorization", "for b")])
        let same = try followUp(of: "https://a.example/x", upgradedTo: "https://b.example/y", with: added)
        #expect(same?.fields.firstValue("Authorization") == "for b")
    }

    // what a redirect led to is another server, whatever became of its scheme
    @Test("an upgraded redirect is not the task's own request") func upgradedRedirect() throws {
        let next = try followUp(
            of: "https://a.example/x", upgradedTo: "https://a.example:8080/y", with: HTTPFields([("X-Kept", "1")]))
        #expect(next?.url == "https://a.example:8080/uploads/1")
        #expect(next?.fields.contains("Authorization") == false)
    }

    /// Resumes another task's upload of five bytes, with a request to `https://a.example/x`.
    private func resumed(at uploadURL: String) throws -> (stage: UploadResumptionStage, first: LoadRequest) {
        let point = UploadResumePoint(
            method: "POST", url: "https://a.example/x", fields: HTTPFields([("X-Kept", "1")]), length: 5,
            uploadURL: uploadURL, limits: UploadLimits())
        let stage = UploadResumptionStage(
            try request("https://a.example/x"), resuming: StoppedUpload(point: try #require(point), file: nil))
        return (stage, try #require(try stage.start()))
    }

    // RES-10, RES-16: resume data has no secrets, but the session may have
    @Test("an upload of another task goes on with the secrets of this one") func secretsOfThisTask() throws {
        let (_, first) = try resumed(at: "https://a.example/uploads/1")
        #expect(first.method == "HEAD")
        #expect(first.fields.firstValue("Authorization") == "secret")
        #expect(try resumed(at: "https://b.example/uploads/1").first.fields.contains("Authorization") == false)
    }

    // RES-14, RES-16
    @Test("an upload of another task that the server has forgotten can resume again") func forgotten() throws {
        let (stage, _) = try resumed(at: "https://a.example/uploads/1")
        let head = ResponseHead(status: 404, version: .http11, fields: HTTPFields(), byteCount: 0)
        guard case .send(let next, pause: 0) = stage.received(head) else {
            Issue.record("not created anew")
            return
        }
        let request = try stage.request(for: next)
        var exchange = ExchangeRequest(
            method: request.method, target: .origin("/x"), fields: request.fields,
            defaults: HTTPFields(), body: .none, expectsContinue: false)
        stage.mark(&exchange, to: request.url)
        #expect(
            exchange.fields
                == HTTPFields([
                    ("Authorization", "secret"), ("Upload-Draft-Interop-Version", "8"), ("Upload-Complete", "?1"),
                    ("Upload-Length", "5"),
                ]))
    }
}
