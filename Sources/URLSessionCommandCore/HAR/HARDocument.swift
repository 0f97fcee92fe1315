package import Foundation

/// An HTTP archive, version 1.2: http://www.softwareishard.com/blog/har-12-spec/
package struct HARDocument: Codable, Equatable, Sendable {
    package var log: Log

    package init(creatorVersion: String, entries: [Entry]) {
        log = Log(version: "1.2", creator: Creator(name: "urlsession", version: creatorVersion), entries: entries)
    }

    package func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    package struct Log: Codable, Equatable, Sendable {
        package var version: String
        package var creator: Creator
        package var entries: [Entry]
    }

    package struct Creator: Codable, Equatable, Sendable {
        package var name: String
        package var version: String
    }

    package struct Entry: Codable, Equatable, Sendable {
        package var startedDateTime: String
        /// Milliseconds, as all times in this format.
        package var time: Double
        package var request: Request
        package var response: Response
        package var cache = Cache()
        package var timings: Timings
        package var serverIPAddress: String?
        package var comment: String?
    }

    package struct Request: Codable, Equatable, Sendable {
        package var method: String
        package var url: String
        package var httpVersion: String
        package var cookies: [NameValue] = []
        package var headers: [NameValue]
        package var queryString: [NameValue]
        package var postData: PostData?
        package var headersSize: Int64
        package var bodySize: Int64
    }

    package struct Response: Codable, Equatable, Sendable {
        package var status: Int
        package var statusText: String
        package var httpVersion: String
        package var cookies: [NameValue] = []
        package var headers: [NameValue]
        package var content: Content
        package var redirectURL: String
        package var headersSize: Int64
        package var bodySize: Int64
    }

    package struct NameValue: Codable, Equatable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package struct PostData: Codable, Equatable, Sendable {
        package var mimeType: String
        package var text: String
        package var comment: String?
    }

    package struct Content: Codable, Equatable, Sendable {
        package var size: Int64
        package var compression: Int64?
        package var mimeType: String
        package var text: String?
        package var encoding: String?
        package var comment: String?
    }

    package struct Cache: Codable, Equatable, Sendable {}

    /// -1 for a phase that did not take place. `connect` includes `ssl`, as the format requires.
    package struct Timings: Codable, Equatable, Sendable {
        package var blocked = -1.0
        package var dns = -1.0
        package var connect = -1.0
        package var ssl = -1.0
        package var send = 0.0
        package var wait = 0.0
        package var receive = 0.0
    }
}
