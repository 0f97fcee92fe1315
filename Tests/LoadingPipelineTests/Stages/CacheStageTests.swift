import Foundation
import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// What is gathered for the cache as it goes by.
@Suite struct CacheStageTests {
    /// A stage that has seen the head of a response that may be kept, up to a limit.
    private func stage(limit: Int64, expecting length: Int64 = -1) throws -> CacheStage {
        var stage = CacheStage()
        stage.begin()
        stage.contents = CacheContents(entry: nil, limit: limit)
        let request = CacheRequest(url: try HTTPURL("https://example.com/"))
        _ = stage.decide(request, now: 1_000)
        let effect = stage.read(
            status: 200, fields: HTTPFields([("Cache-Control", "max-age=60")]), expectedLength: length, partition: nil,
            now: 1_001)
        #expect(effect == .nothing)
        return stage
    }

    // CACHE-31
    @Test("what is within the limit is gathered whole") func within() throws {
        var stage = try stage(limit: 10)
        #expect(stage.isGathering)
        #expect(["hello", "world"].map { stage.gather(Data($0.utf8)) } == [true, true])
        let entry = stage.takeGathered(whole: nil)
        #expect(entry?.body == Data("helloworld".utf8))
    }

    // CACHE-31: the piece that is too much is not held, and nothing after it
    @Test("what goes beyond it is let go of") func beyond() throws {
        var stage = try stage(limit: 10)
        #expect(["hello", "world!"].map { stage.gather(Data($0.utf8)) } == [true, false])
        let hadOlder = stage.stopGathering()
        #expect(!hadOlder && !stage.isGathering)
        _ = stage.gather(Data(count: 1_000))
        let entry = stage.takeGathered(whole: nil)
        #expect(entry == nil)
    }

    // CACHE-31: what says that it is too large is not begun to be gathered
    @Test("what is announced as too large", arguments: [(10, true), (11, false), (.max, false)] as [(Int64, Bool)])
    func announced(length: Int64, isGathered: Bool) throws {
        #expect(try stage(limit: 10, expecting: length).isGathering == isGathered)
        #expect(try stage(limit: 0, expecting: -1).isGathering == false)
    }
}
