import Foundation
import TestSupport
import Testing
import URLLoading

/// `data:` URLs, and unknown schemes.
@Suite(.leavesNothing) struct DataURLTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    // MISC-16, S-4, T-27, T-39
    @Test("a data task") func aDataTask() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: try url("data:,hello%20there")).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 0), .data(1, "hello there"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(delegate.faults.events == [])
    }

    // MISC-16
    @Test("its response") func itsResponse() async throws {
        let (data, response) = try await URLSession.shared.data(from: url("data:text/html;charset=UTF-8;base64,PGI+"))
        #expect(data == Data("<b>".utf8))
        #expect(!(response is HTTPURLResponse))
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 3)
    }

    // MISC-10, and beyond MISC-16
    @Test("a line end is in no name of an encoding, nor of a type") func lineEnds() async throws {
        let failure = await #expect(throws: URLError.self) {
            try await URLSession.shared.data(from: url("data:text/html;charset=utf-8%0D%0AX:y,x"))
        }
        #expect(failure?.code == .cannotDecodeRawData)
        let (_, type) = try await URLSession.shared.data(from: url("data:text/html%0AX:y,x"))
        #expect(type.mimeType == "text/plain")
        #expect(type.textEncodingName == nil)
    }

    // MISC-16, S-70
    @Test("a download, and bytes") func aDownloadAndBytes() async throws {
        let (file, _) = try await URLSession.shared.download(from: url("data:;base64,aGk="))
        #expect(try Data(contentsOf: file) == Data("hi".utf8))
        try FileManager.default.removeItem(at: file)
        let (bytes, _) = try await URLSession.shared.bytes(from: url("data:,abc"))
        var text = ""
        for try await character in bytes.characters { text.append(character) }
        #expect(text == "abc")
        let (empty, _) = try await URLSession.shared.download(from: url("data:,"))
        #expect(try Data(contentsOf: empty) == Data())
        try FileManager.default.removeItem(at: empty)
    }

    // MISC-16
    @Test("invalid data URLs", arguments: ["data:;base64,a", "data:nothing"])
    func invalidDataURLs(text: String) async throws {
        let recorder = EventRecorder<Call>()
        URLSession.shared.dataTask(with: try url(text), completionHandler: recorder.handler).resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled(nil, nil, .cannotDecodeRawData)])
    }

    // ERR-5
    @Test("an unknown scheme", arguments: ["gopher://x/", "nothing:x", "about:blank"])
    func anUnknownScheme(text: String) async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: try url(text)).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.filter { if case .metrics = $0 { false } else { true } } == [
                .created(1), .completed(1, .unsupportedURL), .invalid,
            ])
    }
}
