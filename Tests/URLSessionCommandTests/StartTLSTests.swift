import Testing
import URLSessionCommandCore

/// The steps before TLS, without a connection.
@Suite struct StartTLSTests {
    /// What the client sends, and how it ends, when the server's bytes come in pieces of a number of bytes.
    private func run(
        _ script: StartTLSScript, inPiecesOf size: Int
    ) throws -> (sent: [UInt8], isDone: Bool, refusal: String?) {
        let applicationProtocol = try #require(StartTLS.ApplicationProtocol(rawValue: script.name))
        var negotiation = StartTLS(applicationProtocol, host: "localhost")
        var sent = negotiation.opening
        var isDone = false
        for case .sends(let bytes) in script.steps {
            for start in stride(from: 0, to: bytes.count, by: size) {
                do {
                    switch try negotiation.receive(bytes[start..<min(start + size, bytes.count)]) {
                    case .going(let more): sent += more
                    case .done: isDone = true
                    }
                } catch {
                    return (sent, isDone, error.reason)
                }
            }
        }
        return (sent, isDone, nil)
    }

    // STREAM-6
    @Test("whole, and byte by byte", arguments: StartTLSScript.all) func steps(_ script: StartTLSScript) throws {
        let expected = script.steps.flatMap { step -> [UInt8] in
            if case .receives(let bytes) = step { bytes } else { [] }
        }
        for size in [1, 2, 7, 10_000] {
            // Whether bytes follow the agreement is known only if they come together with it.
            if size < 10_000, script.refusal?.contains("between") == true { continue }
            let outcome = try run(script, inPiecesOf: size)
            #expect(outcome.sent == expected, "pieces of \(size)")
            #expect(outcome.refusal == script.refusal, "pieces of \(size)")
            #expect(outcome.isDone == (script.refusal == nil), "pieces of \(size)")
        }
    }

    @Test("a conversation without an end is refused", arguments: StartTLS.ApplicationProtocol.allCases)
    func endless(_ applicationProtocol: StartTLS.ApplicationProtocol) throws {
        var negotiation = StartTLS(applicationProtocol, host: "localhost")
        var refusal: StartTLS.Refusal?
        for _ in 0..<200 {
            do {
                _ = try negotiation.receive([UInt8](repeating: 0x30, count: 1000))
            } catch {
                refusal = error
                break
            }
        }
        #expect(refusal != nil)
    }

    @Test("the host cannot end the stream header of XMPP") func hostInXML() {
        let opening = String(decoding: StartTLS(.xmpp, host: "a'><b&\"").opening, as: UTF8.self)
        #expect(opening.contains("to='ab'"))
    }
}
