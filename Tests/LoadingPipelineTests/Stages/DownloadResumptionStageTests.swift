import LoadingProtocols
import LoadingSemantics
import Testing

@testable import LoadingPipeline

@Suite struct DownloadResumptionStageTests {
    // RES-4, RES-11
    @Test("the rest of a resource of unknown length is as long as its range") func unknownLength() throws {
        var request = LoadRequest(
            url: try HTTPURL("http://a.example/f"), urlText: "http://a.example/f", method: "GET", fields: HTTPFields(),
            body: .none, idleTimeout: 60, totalTimeout: 60, waitsForConnectivity: false, priority: 0.5)
        let point = try #require(
            DownloadResumePoint(
                originalURL: "http://a.example/f", url: "http://a.example/f", requestFields: HTTPFields(),
                validator: .entityTag("\"v1\""), bytesReceived: 400, total: nil, fileName: "f.tmp"))
        let stage = DownloadResumptionStage(StoppedDownload(point: point, path: "f.tmp"), &request)
        let head = ResponseHead(
            status: 206, version: .http11, fields: HTTPFields([("Content-Range", "bytes 400-999/*")]), byteCount: 0)
        #expect(stage.decide(head) == .append(offset: 400, length: 600, total: nil))
        #expect(stage.error(after: 600) == nil)
        #expect(stage.error(after: 599)?.code == LoadError.networkConnectionLost.code)
        #expect(stage.error(after: 601)?.code == LoadError.badServerResponse("").code)
    }
}
