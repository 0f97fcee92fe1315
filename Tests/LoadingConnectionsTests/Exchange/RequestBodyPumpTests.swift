import Foundation
import LoadingSemantics
import LoadingTransport
import Testing

@testable import LoadingConnections

@Suite struct RequestBodyPumpTests {
    /// Answers with one piece after the other, and then with the end.
    private final class Pieces: RequestBodySource {
        var left: [Result<BodyPiece, LoadError>]
        private(set) var isCancelled = false
        let isUnread = false

        init(_ pieces: [Result<BodyPiece, LoadError>]) { left = pieces }

        convenience init(_ texts: String...) { self.init(texts.map { .success(.bytes(Data($0.utf8))) }) }

        func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
            deliver(left.isEmpty ? .success(.end) : left.removeFirst())
        }

        func cancel() { isCancelled = true }
    }

    /// What a socket gets that takes `most` bytes at a time; ends where the pump waits.
    private func sent(_ pump: inout RequestBodyPump, most: Int) throws -> [String] {
        var writes: [String] = []
        while true {
            switch pump.next {
            case .bytes(let data, let offset, _):
                let piece = data[offset..<min(data.endIndex, offset + most)]
                writes.append(String(decoding: piece, as: UTF8.self))
                pump.advance(by: piece.count)
            case .source(let source):
                pump.awaitSource()
                var answer: Result<BodyPiece, LoadError>?
                source.nextPiece(mayBePiped: false) { answer = $0 }
                if let answer { try pump.received(answer) }
            case .end, .pipe, .awaited, .held, .stopped: return writes
            }
        }
    }

    // MISC-5
    @Test("bytes go out as the socket takes them", arguments: [(1, ["a", "b", "c"]), (2, ["ab", "c"]), (9, ["abc"])])
    func bytes(most: Int, writes: [String]) throws {
        // A slice, whose indices do not begin with 0.
        var pump = RequestBodyPump(.bytes(Data("xabc".utf8)[1...]), isHeld: false)
        #expect(try sent(&pump, most: most) == writes)
        #expect(pump.isAtEnd)
    }

    @Test("empty pieces are not written", arguments: [nil, 2] as [Int64?]) func emptyPieces(length: Int64?) throws {
        var pump = RequestBodyPump(.source(Pieces("", "ab", ""), length: length), isHeld: false)
        #expect(try sent(&pump, most: 9) == ["ab"])
        #expect(pump.isAtEnd)
    }

    @Test("a body without bytes is at its end at once, and is not held back", arguments: [false, true])
    func nothing(expectsContinue: Bool) {
        let source = Pieces("a")
        for body in [RequestBody.none, .bytes(Data()), .source(source, length: 0)] {
            #expect(RequestBodyPump(body, isHeld: expectsContinue).isAtEnd)
        }
        #expect(source.isCancelled)
    }

    // MISC-5
    @Test(
        "a source goes out up to the announced length",
        arguments: [
            (nil, ["ab", "cd"], false), (4, ["ab", "cd"], true), (3, ["ab", "c"], true), (2, ["ab"], true),
        ] as [(Int64?, [String], Bool)])
    func source(length: Int64?, writes: [String], isCancelled: Bool) throws {
        let source = Pieces("ab", "cd")
        var pump = RequestBodyPump(.source(source, length: length), isHeld: false)
        #expect(try sent(&pump, most: 2) == writes)
        #expect(pump.isAtEnd)
        #expect(source.isCancelled == isCancelled)
    }

    @Test("a source that ends before the announced length, or fails, is an error")
    func shortSource() {
        for (pieces, error) in [
            (Pieces("ab"), LoadError.requestBodyStreamExhausted), (Pieces([.failure(.timedOut)]), .timedOut),
        ] {
            var pump = RequestBodyPump(.source(pieces, length: 3), isHeld: false)
            #expect(throws: error) { try sent(&pump, most: 9) }
        }
    }

    @Test("a pipe goes out up to the announced length")
    func pipe() throws {
        let pipe = try #require(SplicePipe())
        let source = Pieces([.success(.piped(pipe, 10))])
        var pump = RequestBodyPump(.source(source, length: 7), isHeld: false)
        _ = try sent(&pump, most: 1)
        for left in [7, 4] {
            guard case .pipe(let found, left, _) = pump.next, found === pipe else {
                Issue.record("\(pump.next)")
                return
            }
            pump.advance(by: left == 7 ? 3 : 4)
        }
        #expect(pump.isAtEnd)
        #expect(source.isCancelled)
    }

    // CONN-23
    @Test("a body with Expect is held back until it is released, once")
    func held() throws {
        var pump = RequestBodyPump(.bytes(Data("abc".utf8)), isHeld: true)
        #expect(pump.isHeld)
        #expect(try sent(&pump, most: 9) == [])
        #expect([pump.release(), pump.release()] == [true, false])
        #expect(try sent(&pump, most: 9) == ["abc"])
    }

    // CONN-23
    @Test(
        "a final response stops a body that was held back; in the middle, only a refusal does",
        arguments: [200, 204, 299, 300, 302, 401, 417, 500])
    func finalResponse(status: Int) throws {
        var pump = RequestBodyPump(.bytes(Data("abc".utf8)), isHeld: true)
        #expect(pump.isUnwanted(after: status))
        _ = pump.release()
        #expect(pump.isUnwanted(after: status) == (status >= 300))
        _ = try sent(&pump, most: 9)
        #expect(!pump.isUnwanted(after: status))
    }

    @Test("a body that is stopped sends nothing, is not complete, and cancels its source")
    func stop() throws {
        for (isHeld, writes) in [(false, 0), (false, 1), (true, 0)] {
            let source = Pieces("ab")
            var pump = RequestBodyPump(.source(source, length: nil), isHeld: isHeld)
            if writes > 0 {
                pump.awaitSource()
                try pump.received(.success(.bytes(Data("ab".utf8))))
                pump.advance(by: writes)
            }
            pump.stop()
            #expect(source.isCancelled)
            #expect(try sent(&pump, most: 9) == [])
            #expect(!pump.isAtEnd)
            #expect(!pump.isUnwanted(after: 500))
            // What the source says later changes nothing.
            try pump.received(.success(.end))
            #expect(!pump.isAtEnd)
        }
    }
}
