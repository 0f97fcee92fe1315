import LoadingSemantics
import Testing

@testable import LoadingConnections

@Suite struct ProxyResolutionCacheTests {
    private func question(_ url: String, _ script: String = "a") throws -> ProxyResolverQuery {
        ProxyResolverQuery(source: .script(PACScriptText(script)), query: ProxyQuery(try HTTPURL(url)))
    }

    // PROXY-1
    @Test("a script's result is cached for half a minute") func lifetime() throws {
        var memory = ProxyResolutionCache()
        let question = try question("http://a.test/")
        memory.remember(.route(.direct), to: question, at: 5)
        #expect(memory.answer(to: question, at: 30_000_000_004) == .route(.direct))
        #expect(memory.answer(to: question, at: 30_000_000_005) == nil)
        #expect(memory.answer(to: try self.question("http://a.test/b"), at: 6) == nil)
        #expect(memory.answer(to: try self.question("http://a.test/", "b"), at: 6) == nil)
        memory.forget("a.test")
        #expect(memory.answer(to: question, at: 6) == nil)
    }

    // PROXY-1
    @Test("a script that timed out repeatedly is not run for half a minute") func silence() throws {
        var memory = ProxyResolutionCache()
        for name in ["x", "y", "a"] { memory.remember(.timedOut, to: try question("http://\(name).test/"), at: 5) }
        #expect(memory.answer(to: try question("http://b.test/"), at: 30_000_000_004) == .timedOut)
        #expect(memory.answer(to: try question("http://b.test/"), at: 30_000_000_005) == nil)
        #expect(memory.answer(to: try question("http://b.test/", "b"), at: 6) == nil)
        memory.forgetAll()
        #expect(memory.answer(to: try question("http://b.test/"), at: 6) == nil)
    }

    // PROXY-1
    @Test("one query that a script cannot answer does not disable it") func singleSilence() throws {
        var memory = ProxyResolutionCache()
        memory.remember(.route(.direct), to: try question("http://c.test/"), at: 4)
        for number in 0..<10 {
            memory.remember(.timedOut, to: try question("http://\(number).a.test/"), at: 5)
            memory.remember(.timedOut, to: try question("http://\(number).b.test/"), at: 5)
            #expect(memory.answer(to: try question("http://\(number).b.test/"), at: 6) == .timedOut)
            #expect(memory.answer(to: try question("http://x.test/"), at: 6) == nil)
            memory.remember(.nothing, to: try question("http://\(number).c.test/"), at: 5)
        }
        // What is known is known, whatever becomes of other questions.
        for number in 0..<3 { memory.remember(.timedOut, to: try question("http://\(number).d.test/"), at: 5) }
        #expect(memory.answer(to: try question("http://x.test/"), at: 6) == .timedOut)
        #expect(memory.answer(to: try question("http://c.test/"), at: 6) == .route(.direct))
    }

    @Test("there is an end to what is remembered") func bound() throws {
        var memory = ProxyResolutionCache()
        for number in 0..<10_000 {
            memory.remember(.nothing, to: try question("http://\(number).test/"), at: Int64(number))
        }
        #expect(memory.count <= ProxyResolutionCache.most)
    }
}
