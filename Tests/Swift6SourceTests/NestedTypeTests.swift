import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// As packages have it for Linux, because the toolchain's module has neither the method nor its type.
extension URLSession {
    fileprivate struct AsyncBytes: AsyncSequence {
        typealias Element = UInt8

        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var bytes: Data.Iterator

            mutating func next() async throws -> UInt8? { bytes.next() }
        }

        let data: Data

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: data.makeIterator()) }
    }

    fileprivate func bytes(for request: URLRequest) async throws -> (AsyncBytes, URLResponse) {
        let (data, response) = try await data(for: request)
        return (AsyncBytes(data: data), response)
    }
}

private struct LineReader {
    let bytes: URLSession.AsyncBytes

    func lines() async throws -> [String] {
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        return lines
    }
}

@Suite struct NestedTypeTests {
    // T-58
    @Test("a type that a program nests in URLSession has precedence") func aNestedType() async throws {
        let server = try ScriptedServer.answering(.text("one\ntwo"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let (bytes, _) = try await session.bytes(for: URLRequest(url: server.url()))
        #expect(bytes.data == Data("one\ntwo".utf8))
        #expect(try await LineReader(bytes: bytes).lines() == ["one", "two"])
        session.invalidateAndCancel()
    }
}
