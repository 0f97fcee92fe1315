import Foundation
import TestSupport
import Testing

@Suite(.needs(.nginx), .needs(.curl)) struct NginxServerTests {
    @Test("files, ranges, compression and statuses") func filesRangesCompressionAndStatuses() throws {
        let server = try NginxServer(files: ["a/b.txt": Array("0123456789".utf8), "big.bin": .pattern(count: 300_000)])
        defer { server.stop() }
        #expect(try Curl.run("--range", "2-4", server.url("/a/b.txt").absoluteString).output == "234")
        let format = [
            "--output", "/dev/null", "--write-out", "%{http_code} %{size_download} %header{content-encoding}",
        ]
        func fetch(_ arguments: String...) throws -> String {
            try ChildProcess.run("/usr/bin/curl", ["--silent"] + format + arguments).output
        }
        #expect(try fetch(server.url("/big.bin").absoluteString) == "200 300000 ")
        #expect(try fetch("-H", "Accept-Encoding: gzip", server.url("/gzip/a/b.txt").absoluteString).hasSuffix(" gzip"))
        #expect(try fetch(server.url("/status/503").absoluteString).hasPrefix("503 "))
        #expect(try fetch("--data", "body", server.url("/upload").absoluteString).hasPrefix("200 "))
    }

    @Test("the secure port supports HTTP/1.1 and HTTP/2 with the authority's certificate")
    func theSecurePortSupportsHTTP1And2() throws {
        let server = try NginxServer(files: ["x": Array("x".utf8)])
        defer { server.stop() }
        let files = try TemporaryDirectory()
        let root = try files.write(server.authority.root.pem, to: "root.pem").path
        let url = server.secureURL("/x").absoluteString
        for (option, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
            let result = try Curl.run(option, "--cacert", root, "--write-out", " %{http_version}", url)
            #expect(result.output == "x \(version)")
        }
    }

    @Test("the log contains how many connections were used") func theLogContainsHowManyConnectionsWereUsed() throws {
        var options = NginxServer.Options()
        options.keepAliveRequests = 2
        let server = try NginxServer(files: ["x": [120]], options: options)
        let url = server.url("/x").absoluteString
        #expect(try Curl.run(url, url, url).output == "xxx")
        server.stop()
        // The first request is the one that asked whether nginx is there.
        let log = server.log.filter { $0.line == "GET /x HTTP/1.1" }
        #expect(log.map(\.requestOnConnection) == [1, 2, 1])
        #expect(Set(log.map(\.connection)).count == 2)
        #expect(log.map(\.status) == [200, 200, 200])
        #expect(log.map(\.bodyBytesSent) == [1, 1, 1])
    }

    @Test("a configuration that nginx refuses is reported with its words")
    func aConfigurationThatNginxRefusesIsReportedWithItsWords() throws {
        var options = NginxServer.Options()
        options.directives = "nonsense;"
        let failure = #expect(throws: NginxServer.StartFailure.self) { try NginxServer(options: options) }
        #expect(failure?.description.contains(#"unknown directive "nonsense""#) == true)
    }

    @Test("nothing remains of a server", .leakChecked) func nothingRemains() throws {
        let server = try NginxServer(files: ["x": [120]])
        #expect(try Curl.run(server.url("/x").absoluteString).output == "x")
        server.stop()
        #expect(kill(server.processID, 0) == -1)
    }
}
