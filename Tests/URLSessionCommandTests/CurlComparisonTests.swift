import Foundation
import TestSupport
import Testing

/// The same command lines as curl's make the same requests.
@Suite(.enabled(if: access("/usr/bin/curl", X_OK) == 0)) struct CurlComparisonTests {
    /// A request as both programs must send it.
    private struct Wire: Equatable {
        var line: String
        var fields: [String]
        var body: String

        /// The boundary of a form is replaced, since it is random.
        init(_ request: ReceivedRequest) {
            line = "\(request.method) \(request.target)"
            var type = request["Content-Type"]
            var body = request.bodyText
            if let boundary = type?.split(separator: "boundary=").last, type?.hasPrefix("multipart/") ?? false {
                body = body.replacingOccurrences(of: String(boundary), with: "BOUNDARY")
                type = "multipart/form-data; boundary=BOUNDARY"
            }
            self.body = body
            let names = ["Authorization", "Range", "Referer", "If-Modified-Since", "If-Unmodified-Since", "Cookie"]
            fields = ["\(type ?? "no type")"] + names.compactMap { name in request[name].map { "\(name): \($0)" } }
        }
    }

    private static let lines = [
        ["-d", "a=1", "-d", "b=2"], ["-d", "@lines.txt"], ["-d", "x", "-d", "@lines.txt"],
        ["--data-binary", "@lines.txt"], ["--data-raw", "@lines.txt"], ["--data-ascii", "@lines.txt"],
        ["--data-urlencode", "a b=c d&é~-._"], ["--data-urlencode", "=x y"], ["--data-urlencode", "plain text"],
        ["--data-urlencode", "@lines.txt"], ["--data-urlencode", "n@lines.txt"],
        ["--data-urlencode", "a=b", "-d", "c=d", "--data-binary", "@lines.txt"],
        ["-G", "--data-urlencode", "q=a b", "-d", "c"], ["-G", "-I", "-d", "a"],
        ["--json", "{\"a\":1}"], ["--json", "@lines.txt"],
        ["-F", "a=1"], ["-F", "f=@lines.txt"], ["-F", "f=<lines.txt"], ["--form-string", "a=@x;y"],
        ["-F", "f=@lines.txt;type=x/y;filename=other.bin"], ["-F", "f=@lines.txt;filename=\"a\\\"b;c\""],
        ["-F", "a=\"x;y\""], ["-F", "a=b;type=text/plain;charset=utf-8"], ["-F", "a=b;headers=\"X-A: 1\""],
        ["-F", "p=@picture.png", "-F", "q=@odd\"name", "-F", "a=b"], ["-F", "=nameless"], ["-F", "f=@empty"],
        ["-H", "Content-Type: multipart/form-data", "-F", "a=1"],
        ["--oauth2-bearer", "t0ken"], ["-e", "http://before/"], ["-b", "a=b; c=d"],
        ["-r", "0-1"], ["-r", "5"], ["-r", "-5"], ["-r", "0-1,-2"],
        ["-z", "Tue, 02 Jan 2024 03:04:05 GMT"], ["-z", "-Tue, 02 Jan 2024 03:04:05 GMT"], ["-z", "20240102"],
        ["-X", "PATCH", "-d", "a"], ["-I"], ["-A", "agent"],
    ]

    /// What later releases do otherwise: an empty first piece is left out, and a query keeps the name of the file away.
    private static let linesOfVersion7 = [["-d", "", "-d", "b"], ["-T", "lines.txt"], ["-T", "empty"]]

    /// curl's major version.
    private static let version: Int? = {
        let output = (try? ChildProcess.run("/usr/bin/curl", ["-q", "--version"]))?.output
        return output?.split(separator: " ").dropFirst().first?.split(separator: ".").first.flatMap { Int($0) }
    }()

    @Test(arguments: lines + (version == 7 ? linesOfVersion7 : [])) func sameRequests(_ line: [String]) throws {
        let harness = try CommandHarness(.echoing())
        defer { harness.server.stop() }
        _ = try harness.write("a b\r\nc&d\n", to: "lines.txt")
        _ = try harness.write("png", to: "picture.png")
        _ = try harness.write("odd", to: "odd\"name")
        _ = try harness.write("", to: "empty")
        let words = ["-s"] + line + [harness.url("/folder/?x=1#end")]
        let ours = try harness.runInFolder(words)
        #expect(ours.exit == .code(0), "\(ours.output)")
        let (exit, output) = try ChildProcess.run(
            "/bin/sh", ["-c", "cd \"$1\" && shift && exec curl -q \"$@\"", "sh", harness.folder.path] + words)
        #expect(exit == .code(0), "\(output)")
        let requests = harness.server.requests
        try #require(requests.count == 2)
        #expect(Wire(requests[0]) == Wire(requests[1]))
    }

    /// Both print the same for what does not depend on time.
    @Test func sameTextsOfWriteOut() throws {
        let harness = try CommandHarness(
            .answering { request in
                request.path == "/from"
                    ? .redirect(to: "/to") : .text("hello").with(field: "X-A", "1").with(field: "x-a", "2")
            })
        defer { harness.server.stop() }
        let format =
            "%{http_code} %{response_code} %{content_type} %{num_redirects} %{url_effective} %{url} %{urlnum} "
            + "%{method} %{http_version} %{scheme} %{size_download} %{size_header} %{num_headers} %{remote_ip} "
            + "%{remote_port} %{local_ip} %{exitcode} %{errormsg} %{http_connect} %{filename_effective} "
            + "%{redirect_url} %{num_connects} %header{X-A} %header{none} 100%% \\t\\x%{header_json}\\n"
        for words in [["-L"], []] {
            let line = ["-s"] + words + (words.isEmpty ? ["-o", "body"] : []) + ["-w", format, harness.url("/from")]
            let ours = try harness.runInFolder(words.isEmpty ? ["--no-follow"] + line : line)
            let (_, output) = try ChildProcess.run(
                "/bin/sh", ["-c", "cd \"$1\" && shift && exec curl -q \"$@\"", "sh", harness.folder.path] + line)
            // Later releases write the scheme in lower case.
            #expect(ours.output == output.replacing(" http ", with: " HTTP "))
        }
    }

    /// curl reads the cookies that were written here, and the other way around.
    @Test func cookieFilesOfBoth() throws {
        let harness = try CommandHarness(
            .answering { request in
                .text(request["Cookie"] ?? "none").with(field: "Set-Cookie", "a=1; Path=/; Max-Age=1000; HttpOnly")
                    .with(field: "Set-Cookie", "b=2; Path=/x")
            })
        defer { harness.server.stop() }
        let curl = "cd \"$1\" && shift && exec curl -q -s \"$@\""
        _ = try harness.runInFolder(["-s", "-c", "ours", "-o", "body", harness.url()])
        _ = try ChildProcess.run(
            "/bin/sh", ["-c", curl, "sh", harness.folder.path, "-c", "theirs", "-o", "body", harness.url()])
        for file in ["ours", "theirs"] {
            let (_, theirs) = try ChildProcess.run(
                "/bin/sh", ["-c", curl, "sh", harness.folder.path, "-b", file, harness.url("/x")])
            let ours = try harness.runInFolder(["-s", "-b", file, harness.url("/x")]).output
            #expect([theirs, ours].map { $0.split(separator: "; ").sorted() } == [["a=1", "b=2"], ["a=1", "b=2"]])
        }
    }
}
