import Foundation
import Testing
import URLSessionCommandCore

/// The archive, with redaction of secrets.
@Suite struct HARDocumentTests {
    private func record() -> HARRecord {
        var timeline = TransactionTimeline(
            method: "POST", url: "", status: 201,
            phases: [
                .init(.queued, 0, 0.001), .init(.dns, 0.001, 0.003), .init(.connect, 0.003, 0.006),
                .init(.tls, 0.006, 0.010), .init(.request, 0.010, 0.011), .init(.wait, 0.011, 0.016),
                .init(.response, 0.016, 0.0225),
            ])
        timeline.protocolName = "http/1.1"
        timeline.remoteAddress = "[2001:db8::1]:443"
        timeline.requestHeaderBytes = 200
        timeline.requestBodyBytes = 3
        timeline.responseHeaderBytes = 150
        timeline.responseBodyBytes = 40
        timeline.decodedBodyBytes = 100
        var record = HARRecord(
            timeline: timeline, start: Date(timeIntervalSince1970: 1_700_000_000.25),
            url: "https://ann:pa55word@h/a?b=c%20d&e")
        record.requestFields = [
            ("Authorization", "Bearer t0ken"), ("Content-Type", "text/plain"), ("Cookie", "sid=5ecret; theme=dark"),
            ("Proxy-Authorization", "Basic cHJveHk="), ("X-Api-Key", "k3y"),
        ]
        record.responseFields = [
            ("Location", "https://ann:pa55word@h/new"), ("Set-Cookie", "sid=n3w; Path=/; HttpOnly"),
        ]
        record.reason = "Created"
        record.mimeType = "text/plain"
        record.requestBody = .init(Data("x=1".utf8))
        record.responseBody = .init(Data("hello".utf8))
        return record
    }

    private func text(_ record: HARRecord, secrets: Bool = false) throws -> String {
        let document = HARDocument(creatorVersion: "9", entries: [record.entry(showingSecrets: secrets)])
        return String(decoding: try document.encoded(), as: UTF8.self)
    }

    @Test func wholeDocument() throws {
        #expect(
            try text(record()) == """
                {
                  "log" : {
                    "creator" : {
                      "name" : "urlsession",
                      "version" : "9"
                    },
                    "entries" : [
                      {
                        "cache" : {

                        },
                        "request" : {
                          "bodySize" : 3,
                          "cookies" : [
                            {
                              "name" : "sid",
                              "value" : "[redacted]"
                            },
                            {
                              "name" : "theme",
                              "value" : "[redacted]"
                            }
                          ],
                          "headers" : [
                            {
                              "name" : "Authorization",
                              "value" : "Bearer [redacted]"
                            },
                            {
                              "name" : "Content-Type",
                              "value" : "text/plain"
                            },
                            {
                              "name" : "Cookie",
                              "value" : "[redacted]"
                            },
                            {
                              "name" : "Proxy-Authorization",
                              "value" : "Basic [redacted]"
                            },
                            {
                              "name" : "X-Api-Key",
                              "value" : "[redacted]"
                            }
                          ],
                          "headersSize" : 200,
                          "httpVersion" : "HTTP/1.1",
                          "method" : "POST",
                          "postData" : {
                            "mimeType" : "text/plain",
                            "text" : "x=1"
                          },
                          "queryString" : [
                            {
                              "name" : "b",
                              "value" : "c d"
                            },
                            {
                              "name" : "e",
                              "value" : ""
                            }
                          ],
                          "url" : "https://%5Bredacted%5D@h/a?b=c%20d&e"
                        },
                        "response" : {
                          "bodySize" : 40,
                          "content" : {
                            "compression" : 60,
                            "mimeType" : "text/plain",
                            "size" : 100,
                            "text" : "hello"
                          },
                          "cookies" : [
                            {
                              "name" : "sid",
                              "value" : "[redacted]"
                            }
                          ],
                          "headers" : [
                            {
                              "name" : "Location",
                              "value" : "https://[redacted]@h/new"
                            },
                            {
                              "name" : "Set-Cookie",
                              "value" : "[redacted]"
                            }
                          ],
                          "headersSize" : 150,
                          "httpVersion" : "HTTP/1.1",
                          "redirectURL" : "https://%5Bredacted%5D@h/new",
                          "status" : 201,
                          "statusText" : "Created"
                        },
                        "serverIPAddress" : "2001:db8::1",
                        "startedDateTime" : "2023-11-14T22:13:20.250Z",
                        "time" : 22.5,
                        "timings" : {
                          "blocked" : 1,
                          "connect" : 7,
                          "dns" : 2,
                          "receive" : 6.5,
                          "send" : 1,
                          "ssl" : 4,
                          "wait" : 5
                        }
                      }
                    ],
                    "version" : "1.2"
                  }
                }
                """)
    }

    private static let secrets = ["t0ken", "5ecret", "dark", "cHJveHk=", "k3y", "pa55word", "ann", "n3w"]

    @Test func secretsAreNotWritten() throws {
        let text = try text(record())
        #expect(Self.secrets.filter { text.contains($0) } == [])
    }

    @Test func secretsAreWrittenOnDemand() throws {
        let text = try text(record(), secrets: true)
        #expect(Self.secrets.filter { !text.contains($0) } == [])
        #expect(!text.contains("[redacted]"))
    }

    @Test func bytesThatAreNoTextAreInBase64() {
        var record = record()
        record.mimeType = "image/png"
        record.responseBody = .init(Data([0x89, 0x50, 0xFF]))
        let content = record.entry(showingSecrets: false).response.content
        #expect(content.text == "iVD/")
        #expect(content.encoding == "base64")
    }

    @Test(
        "text that is not UTF-8 is redacted too",
        arguments: [
            ("text/html", "text/html; charset=iso-8859-1", String.Encoding.isoLatin1, "caf\u{E9} token=[redacted]"),
            ("text/html", "text/html", .isoLatin1, "caf\u{FFFD} token=[redacted]"),
            ("text/plain", "text/plain; charset=utf-16", .utf16, "caf\u{E9} token=[redacted]"),
            ("x-unknown", "", .isoLatin1, "caf\u{FFFD} token=[redacted]"),
        ])
    func textOfOtherCharsets(mimeType: String, type: String, encoding: String.Encoding, shown: String) throws {
        var record = record()
        record.mimeType = mimeType
        record.responseFields = [("Content-Type", type)]
        let bytes = try #require("caf\u{E9} token=5ecret".data(using: encoding))
        record.responseBody = .init(bytes)
        let content = record.entry(showingSecrets: false).response.content
        #expect(content.text == shown)
        #expect(content.encoding == nil)
        let whole = record.entry(showingSecrets: true).response.content
        #expect(whole.text == bytes.base64EncodedString())
        #expect(whole.encoding == "base64")
    }

    @Test func longBodiesAreLeftOutAndCounted() {
        var record = record()
        record.timeline.responseBodyBytes = 3 << 20
        record.timeline.decodedBodyBytes = 3 << 20
        var body = HARRecord.Body()
        for _ in 0..<3 { body.add(Data(count: 1 << 20)) }
        record.responseBody = body
        #expect(body.bytes.count == HARRecord.Body.limit)
        let content = record.entry(showingSecrets: false).response.content
        #expect(content.size == 3 << 20)
        #expect(content.text == nil)
        #expect(content.comment == "the body is longer than 1.00 MiB and is left out")
    }

    @Test func absentPhasesAreMinusOne() {
        let timings = HARDocument.Timings([
            .init(.request, 0, 0.001), .init(.wait, 0.001, 0.003), .init(.response, 0.003, nil),
        ])
        #expect(
            [timings.blocked, timings.dns, timings.connect, timings.ssl, timings.send, timings.wait, timings.receive]
                == [-1, -1, -1, -1, 1, 2, 0])
        #expect(timings.total == 3)
    }

    @Test(
        arguments: [
            ("h2", "HTTP/2"), ("h3", "HTTP/3"), ("http/1.1", "HTTP/1.1"), ("http/1.0", "HTTP/1.0"), (nil, "unknown"),
        ] as [(String?, String)])
    func versionsAsHeadsHaveThem(_ name: String?, _ version: String) {
        var record = record()
        record.timeline.protocolName = name
        let entry = record.entry(showingSecrets: false)
        #expect([entry.request.httpVersion, entry.response.httpVersion] == [version, version])
    }

    // What frames a body is no content that was saved.
    @Test func aBodyInChunksIsNotCompressed() {
        var record = record()
        record.timeline.responseBodyBytes = 117
        #expect(record.entry(showingSecrets: false).response.content.compression == nil)
    }

    // MET-16
    @Test func aFailedLoadHasNoStatus() {
        var record = HARRecord(
            timeline: TransactionTimeline(method: "GET", url: "", phases: [.init(.connect, 0, nil)]),
            start: Date(timeIntervalSince1970: 0), url: "http://h/")
        record.failure = "could not connect"
        let entry = record.entry(showingSecrets: false)
        #expect(entry.response.status == 0)
        #expect(entry.response.bodySize == -1)
        #expect(entry.response.headersSize == -1)
        #expect(entry.serverIPAddress == nil)
        #expect(entry.comment == "could not connect")
    }
}
