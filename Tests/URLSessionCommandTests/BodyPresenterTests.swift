import Testing
import URLSessionCommandCore

/// Which bodies are displayed on a terminal, and how.
@Suite struct BodyPresenterTests {
    private func present(_ bytes: [UInt8], _ type: String?, forPerson: Bool = true) -> (text: String, refused: Bool) {
        var presenter = BodyPresenter(
            mimeType: type, isFormatted: forPerson, style: TextStyle(isColored: false), isUTF8: true)
        let output = presenter.add(bytes) + presenter.finish()
        return (String(decoding: output, as: UTF8.self), presenter.isRefused)
    }

    @Test func programsGetExactBytes() {
        var presenter = BodyPresenter(
            mimeType: "application/json", isFormatted: false, style: TextStyle(isColored: false), isUTF8: true)
        let bytes = [UInt8](0...255)
        #expect(presenter.add(bytes) == bytes)
        #expect(presenter.finish() == [])
        #expect(presenter.passesBytesUnchanged)
    }

    @Test(arguments: ["application/json", "Application/JSON", "application/problem+json"])
    func jsonIsLaidOut(_ type: String) {
        let result = present(Array("[1]".utf8), type)
        #expect(result.text == "[\n  1\n]\n")
        #expect(!result.refused)
    }

    @Test(arguments: ["image/png", "application/zip", "video/mp4"])
    func binaryTypesAreRefused(_ type: String) {
        let result = present(Array("looks like text".utf8), type)
        #expect(result.text == "")
        #expect(result.refused)
    }

    @Test(arguments: [nil, "text/plain", "application/octet-stream", "application/json"])
    func binaryBytesAreRefusedForEveryType(_ type: String?) {
        let result = present([0x7F, 0x45, 0x4C, 0x46, 0x02, 0x00], type)
        #expect(result.text == "")
        #expect(result.refused)
    }

    @Test(arguments: [nil, "application/octet-stream", "image/svg+xml", "text/html"])
    func textIsShownForEveryType(_ type: String?) {
        let result = present(Array("<a>".utf8), type)
        #expect(result.text == "<a>\n")
        #expect(!result.refused)
    }

    @Test func anEmptyBodyPrintsNothing() {
        let result = present([], "application/json")
        #expect(result.text == "")
        #expect(!result.refused)
    }
}
