import Testing
import URLSessionCommandCore

/// The command lines of `background`.
@Suite struct BackgroundArgumentsTests {
    private func failure(_ line: String) -> String? {
        do throws(UsageError) {
            _ = try Arguments.parse(line.split(separator: " ").map(String.init))
            return nil
        } catch {
            return error.message
        }
    }

    private func action(
        _ action: BackgroundOptions.Action, _ words: [String] = [],
        _ change: (inout CommandLineRequest, inout BackgroundOptions) -> Void = { _, _ in }
    ) -> CommandLineAction {
        var request = CommandLineRequest(url: "")
        var options = BackgroundOptions(action)
        options.words = words
        change(&request, &options)
        return .background(request, options)
    }

    @Test func actions() throws {
        #expect(try Arguments.parse(["background", "add", "h/a", "h/b"]) == action(.add, ["h/a", "h/b"]))
        #expect(
            try Arguments.parse(["background", "add", "h/a", "-o", "folder/", "-H", "A: 1", "--discretionary", "-s"])
                == action(.add, ["h/a"]) { request, _ in
                    request.destination = .file("folder/")
                    request.headers = [.set(name: "A", value: "1")]
                    request.isDiscretionary = true
                    request.isSilent = true
                })
        #expect(
            try Arguments.parse(["background", "add", "--upload", "file", "h/a"])
                == action(.add, ["h/a"]) { request, options in
                    request.method = "PUT"
                    request.isUpload = true
                    options.upload = "file"
                })
        #expect(try Arguments.parse(["background", "list"]) == action(.list))
        #expect(try Arguments.parse(["background", "list", "--json"]) == action(.list) { $1.isJSON = true })
        #expect(
            try Arguments.parse(["background", "watch", "--color", "never"])
                == action(.watch) { request, _ in request.color = .never })
        for name in ["pause", "resume", "cancel", "log"] {
            let expected = BackgroundOptions.Action(rawValue: name).map { action($0, ["a/b/1", "2"]) }
            #expect(try Arguments.parse(["background", name, "a/b/1", "2"]) == expected)
        }
        #expect(try Arguments.parse(["background", "install"]) == action(.install))
        #expect(try Arguments.parse(["help", "background"]) == .help(.background))
        #expect(try Arguments.parse(["background", "list", "-h"]) == .help(.background))
    }

    @Test(arguments: [
        ("background", "'background' needs one of add, list, watch, pause, resume, cancel, log, install"),
        ("background lst", "'background' cannot 'lst': did you mean 'list'?"),
        ("background add", "'add' needs a URL"),
        ("background add h -o -", "a background transfer needs a file, not standard output"),
        ("background add h/a h/b --upload f", "a file is sent to one URL"),
        ("background add h -X POST", "a background download is a GET; a file is sent with --upload"),
        ("background add h -d text", "'background add' does not take --data"),
        ("background add h --insecure", "'background add' does not take --insecure"),
        ("background list 1", "'list' takes no '1'"),
        ("background watch --json", "'background watch' does not take --json"),
        ("background list --json=x", "'background' takes --json without a value"),
        ("background cancel", "'cancel' needs a transfer: a number of 'background list'"),
        ("background install --force", "--force belongs to 'download'"),
        ("get h --upload f", "--upload belongs to 'background'"),
        ("h --discretionary", "--discretionary belongs to 'background'"),
    ])
    func refused(_ line: String, _ message: String) {
        #expect(failure(line) == message)
    }
}
