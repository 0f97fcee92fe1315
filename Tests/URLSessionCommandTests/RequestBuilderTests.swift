import Foundation
import LoadingSemantics
import TestSupport
import Testing
import URLLoading
import URLSessionCommandCore

/// From the command line's value to the request.
@Suite struct RequestBuilderTests {
    private func fields(_ change: (inout CommandLineRequest) -> Void) -> [String] {
        var command = CommandLineRequest(url: "http://h/")
        change(&command)
        return RequestBuilder.fields(command).map { "\($0.name): \($0.value)" }
    }

    @Test func noFieldsOfItsOwn() {
        #expect(fields { _ in } == [])
    }

    @Test func dataIsAForm() {
        #expect(fields { $0.body = .text("a=1") } == ["Content-Type: application/x-www-form-urlencoded"])
    }

    @Test func jsonSetsTypeAndAccept() {
        #expect(
            fields {
                $0.body = .text("{}")
                $0.isJSON = true
            } == ["Content-Type: application/json", "Accept: application/json"])
    }

    @Test func editsReplaceRemoveAndAdd() {
        #expect(
            fields {
                $0.body = .text("{}")
                $0.isJSON = true
                $0.userAgent = "me"
                $0.headers = [
                    .set(name: "content-type", value: "application/vnd.api+json"), .remove(name: "ACCEPT"),
                    .set(name: "X", value: "1"), .set(name: "x", value: "2"), .set(name: "Cookie", value: "a=1"),
                    .set(name: "Cookie", value: "b=2"), .set(name: "Empty", value: ""),
                ]
            } == [
                "User-Agent: me", "content-type: application/vnd.api+json", "X: 1, 2", "Cookie: a=1; b=2", "Empty: ",
            ])
    }

    @Test("the type of -H has the form's boundary", arguments: ["Multipart/mixed; a=b", "x/y"])
    func typeOfForm(_ type: String) throws {
        let line = ["http://h/", "-H", "Content-Type: \(type)", "-F", "a=b"]
        guard case .load(let command) = try Arguments.parse(line) else {
            Issue.record("no load")
            return
        }
        let builder = try RequestBuilder(command)
        guard case .data(let body) = builder.body else {
            Issue.record("no form")
            return
        }
        let text = String(decoding: body, as: UTF8.self)
        let boundary = try #require(text.split(separator: "\r\n").first?.dropFirst(2))
        let isForm = type.hasPrefix("M")
        #expect(
            builder.request.value(forHTTPHeaderField: "Content-Type") == type + (isForm ? "; boundary=\(boundary)" : "")
        )
        #expect(
            try refusal("-H", "Content-Type: multipart/form-data; Boundary=x", "-F", "a=b")
                == "-F makes its own boundary: leave it out of the Content-Type of -H")
    }

    private func refusal(_ line: String...) throws -> String? { try refusal(line) }

    private func refusal(_ line: [String]) throws -> String? {
        guard case .load(let command) = try Arguments.parse(["http://h/"] + line) else { return "several loads" }
        do throws(UsageError) {
            _ = try RequestBuilder(command)
            return nil
        } catch {
            #expect(error.exitCode == .usage)
            return error.message
        }
    }

    /// URLSession sends these fields, so they cannot be removed.
    @Test func fieldsOfTheSessionStay() throws {
        for name in ["Accept", "accept-encoding", "Accept-Language", "User-Agent"] {
            #expect(try refusal("-H", "\(name):") == "-H: URLSession always sends \(name): give it another value")
        }
        // Another value would be refused too.
        for name in ["Connection", "HOST"] {
            #expect(try refusal("-H", "\(name):") == "-H: URLSession sends its own \(name)")
        }
        let length = "-H: URLSession sends its own Content-Length"
        #expect(try refusal("-H", "Content-Length:", "-d", "a") == length)
        #expect(try refusal("-H", "Content-Length:", "-X", "PUT") == length)
        #expect(try refusal("-H", "Content-Length:") == nil)
        #expect(
            try refusal("-H", "Transfer-Encoding:", "-T", "-") == "-H: URLSession sends its own Transfer-Encoding")
        #expect(try refusal("-H", "Transfer-Encoding:", "-d", "a") == nil)
        let type = "-H: URLSession always sends Content-Type: give it another value"
        #expect(try refusal("-H", "Content-Type:", "-d", "a") == type)
        #expect(try refusal("-H", "Content-Type:", "-F", "a=b", "-X", "PUT") == type)
        #expect(try refusal("-H", "Accept:", "-H", "Accept: a/b") == nil)
        #expect(try refusal("-H", "Content-Type:", "-X", "PUT", "-d", "a") == nil)
        #expect(try refusal("-H", "Content-Type:") == nil)
        #expect(try refusal("-H", "Content-Type:", "-d", "") == nil)
        #expect(try refusal("-H", "Authorization:", "--oauth2-bearer", "a") == nil)
        #expect(try refusal("-H", "Content-Length:", "-T", "-") == nil)
    }

    /// The length is the caller's only where URLSession does not know it.
    @Test func lengthOfABody() throws {
        let refused = "-H: URLSession sends its own content-length"
        for line in [[], ["-d", "a"], ["-F", "a=b"], ["--data-binary", "@/bin/sh"], ["-T", "/bin/sh"]] {
            #expect(try refusal(["-H", "content-length: 5"] + line) == refused)
        }
        // What is sent may be said.
        #expect(try refusal("-H", "content-length: 5", "-d", "hello") == nil)
        for method in ["PUT", "POST"] { #expect(try refusal("-H", "content-length: 0", "-X", method) == nil) }
        #expect(try refusal("-H", "content-length: 0") == refused)
        #expect(try refusal("-H", "content-length: 5", "-T", "-") == nil)
        #expect(try refusal("-H", "content-length: 5", "--data-binary", "@/dev/null") == nil)
    }

    @Test(arguments: ["data:,hello", "file:///etc/hostname", "ftp://h/a"])
    func onlyHTTPHasMethodsAndBodies(_ url: String) throws {
        let scheme = url.prefix { $0 != ":" }
        for line in [["-d", "a"], ["-I"], ["-X", "PUT"], ["-T", "/bin/sh"]] {
            guard case .load(let command) = try Arguments.parse([url] + line) else { continue }
            let error = try #require(throws: UsageError.self) { try RequestBuilder(command) }
            let message = "\(scheme) URLs have neither a method nor a body to send"
            #expect(error == UsageError(message, exitCode: .unavailable))
        }
        guard case .load(let command) = try Arguments.parse([url, "-A", "me"]) else { return }
        #expect(throws: Never.self) { try RequestBuilder(command) }
    }

    @Test func bodiesThatAreReadOnceAreNotRetried() throws {
        let refused = "--retry needs a body that can be read again: send it from a regular file"
        #expect(try refusal("--retry", "1", "-T", "-") == refused)
        #expect(try refusal("--retry", "1", "-F", "a=@/dev/null") == refused)
        #expect(try refusal("--retry", "0", "-T", "-") == nil)
        #expect(try refusal("--retry", "1", "--data-binary", "@/bin/sh") == nil)
        #expect(try refusal("--retry", "1", "-F", "a=@/bin/sh", "-F", "b=c") == nil)
    }

    @Test func requestHasMethodURLAndBody() throws {
        var command = CommandLineRequest(url: "localhost:8080/a")
        command.method = "PUT"
        command.body = .text("hello")
        let builder = try RequestBuilder(command)
        #expect(builder.request.url?.absoluteString == "http://localhost:8080/a")
        #expect(builder.request.httpMethod == "PUT")
        #expect(builder.request.httpBody == Data("hello".utf8))
        #expect(builder.body == .data(Data("hello".utf8)))
    }

    @Test func timeoutsGoToTheConfiguration() {
        var command = CommandLineRequest(url: "http://h/")
        command.timeout = 3
        command.idleTimeout = 1.5
        let configuration = RequestBuilder.configuration(command)
        #expect(configuration.timeoutIntervalForResource == 3)
        #expect(configuration.timeoutIntervalForRequest == 1.5)
        #expect(configuration.urlCache == nil)
    }

    @Test func filesThatCannotBeSent() {
        var command = CommandLineRequest(url: "http://h/")
        command.body = .file("/nowhere/at/all")
        let missing = #expect(throws: UsageError.self) { try RequestBuilder(command) }
        #expect(
            missing
                == UsageError("cannot read '/nowhere/at/all': No such file or directory", exitCode: .readError))
        command.body = .file("/")
        let folder = #expect(throws: UsageError.self) { try RequestBuilder(command) }
        #expect(folder == UsageError("cannot send '/': it is a directory", exitCode: .readError))
    }

    // Their reported size is wrong, so they are read while they are sent. A pipe may be endless.
    /// Nil if it cannot be read to its end.
    private func streamed(_ builder: RequestBuilder) throws -> [UInt8]? {
        let stream = try #require(builder.streamedRequest.httpBodyStream)
        stream.open()
        defer { stream.close() }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 7)
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            if count < 0 { return nil }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// As many bytes as are announced are sent, with what follows the file.
    @Test(arguments: [["-F", "f=@FILE", "-F", "a=b"], ["-d", "a=b", "-d", "@FILE", "-d", "c=d"]])
    func filesThatChangeWhileTheyAreSent(_ words: [String]) throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("1\n23456789", to: "file").path
        let line = ["http://h/"] + words.map { $0.replacing("FILE", with: file) }
        guard case .load(let command) = try Arguments.parse(line) else {
            Issue.record("no load")
            return
        }
        let builder = try RequestBuilder(command)
        let whole = try #require(try streamed(builder))
        #expect(builder.streamedRequest.value(forHTTPHeaderField: "Content-Length") == "\(whole.count)")
        try folder.write("1\n23456789\nabcdef", to: "file")
        #expect(try streamed(builder) == whole)
        try folder.write("1\n", to: "file")
        #expect(try streamed(builder) == nil)
    }

    @Test func filesWithoutASize() throws {
        func builder(_ path: String) throws -> RequestBuilder {
            var command = CommandLineRequest(url: "http://h/")
            command.body = .file(path)
            return try RequestBuilder(command)
        }
        let status = try builder("/proc/self/status")
        #expect(status.body == .stream(URL(fileURLWithPath: "/proc/self/status")))
        #expect(status.newBodyStream != nil)
        let folder = try TemporaryDirectory()
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        #expect(try builder(pipe.path).body == .stream(pipe))
        #expect(try builder(pipe.path).newBodyStream == nil)
        #expect(try builder(try folder.write("", to: "empty").path).body == .data(Data()))
        let file = try folder.write("x", to: "file")
        #expect(try builder(file.path).body == .file(file))
    }

    // MISC-2, CONN-2
    @Test func configurationsHaveTheRequiredVersion() {
        var command = CommandLineRequest(url: "http://h/")
        #expect(RequestBuilder.configuration(command).programVersion == Command.version)
        #expect(RequestBuilder.configuration(command).requiredHTTPVersion == nil)
        command.version = .http3
        #expect(RequestBuilder.configuration(command).requiredHTTPVersion == .http3)
    }

    @Test func urlsWithoutAHost() {
        let error = #expect(throws: UsageError.self) { try RequestBuilder(CommandLineRequest(url: "http:///a")) }
        #expect(error == UsageError("'http:///a' has no host", exitCode: .malformedURL))
    }

    @Test(arguments: ["http://me:pass@h h/", "me:pass@h h/", "http://me:pass@/?token=pass"])
    func passwordsOfWhatIsNoURL(url: String) {
        let error = #expect(throws: UsageError.self) { try RequestBuilder(CommandLineRequest(url: url)) }
        #expect(error?.exitCode == .malformedURL)
        #expect(error?.message.contains("pass") == false)
        let proxyError = #expect(throws: UsageError.self) { try Arguments.parse(["-x", "me:pass@", "h"]) }
        #expect(proxyError?.message.contains("pass") == false)
    }
}
