import Foundation
import LoadingConnections
import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// Streams for bodies that are sent again.
@Suite struct BodyStageTests {
    private final class Stream: RequestBodySource {
        var isUntouched: Bool { true }
        private(set) var isCancelled = false
        func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {}
        func cancel() { isCancelled = true }
    }

    // T-51, RES-18: the connection was lost before the delegate had answered the first question
    @Test("a late answer to an earlier question for a stream is not sent from another place") func late() {
        let stage = BodyStage()
        var asked: [Int64] = []
        var given: [Int64] = []
        stage.prepare(.stream(nil, length: 10), BodyStage.Part(), asking: { asked.append($0) }) { _ in given.append(0) }
        stage.prepare(.stream(nil, length: 10), BodyStage.Part(offset: 5), asking: { asked.append($0) }) { _ in
            given.append(5)
        }
        #expect(asked == [0, 5])
        let (whole, rest) = (Stream(), Stream())
        stage.provide(whole, from: 0)
        #expect(given == [] && whole.isCancelled)
        stage.provide(rest, from: 5)
        #expect(given == [5] && !rest.isCancelled)
    }
}
